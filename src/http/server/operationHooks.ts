import type { Dependencies } from "../../commands/dependencies.ts";
import type { Json } from "../../kernel/text/json.ts";
import {
  authorize,
  authorizeThenRead,
  authorizeThenReadOptional,
  authorizeUnread,
  type ReadRules,
} from "./authorization.ts";
import type { Operation, Operations } from "./operation.ts";
import { type Route, type RouteName, routes } from "./routes.ts";

type Authorizing<Answer> = (context: { request: Request }) => Promise<Answer>;

/** What Elysia runs and checks before the handler of an operation. */
type OperationHooks<Name extends RouteName, Of> = ((typeof routes)[Name]["method"] extends "GET"
  ? { transform: Authorizing<void> }
  : { parse: Authorizing<Json> }) &
  (Of extends { body: infer Body } ? { body: Body } : unknown) &
  (Of extends { query: infer Query } ? { query: Query } : unknown);

function parseOf(
  deps: Dependencies,
  route: Route,
  operation: Operation,
  rules: ReadRules,
): Authorizing<Json> {
  if (operation.body === undefined) return authorizeUnread(deps, route);
  if (operation.isBodyOptional) return authorizeThenReadOptional(deps, route);
  return authorizeThenRead(deps, route, rules);
}

/**
 * The hooks of operations by their name: the key is checked first, and requests by the same schemas that the document
 * shows.
 */
export function hooksOf<All extends Operations>(deps: Dependencies, operations: All) {
  return <Name extends RouteName & keyof All>(name: Name, rules: ReadRules = {}) => {
    const route: Route = routes[name];
    const operation = operations[name] as Operation;
    const { body, query } = operation;
    const isGet = route.method === "GET";
    return {
      ...(isGet ? { transform: authorize(deps, route) } : { parse: parseOf(deps, route, operation, rules) }),
      ...(body === undefined ? {} : { body }),
      ...(query === undefined ? {} : { query }),
    } as OperationHooks<Name, All[Name]>;
  };
}
