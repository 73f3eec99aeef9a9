import type { TSchema } from "@sinclair/typebox";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { Json } from "../../kernel/text/json.ts";
import { NoQuery } from "../body/commonSchemas.ts";
import { checkBy } from "../body/validation.ts";
import {
  authorize,
  authorizeThenRead,
  authorizeThenReadOptional,
  authorizeUnread,
  type ReadRules,
} from "./authorization.ts";
import type { Operation, Operations } from "./operation.ts";
import { type Route, type RouteName, routes } from "./routes.ts";

/** What Elysia knows of a request that is on its way to its handler. */
interface Incoming {
  readonly request: Request;
  readonly query: unknown;
  body: unknown;
}

type Hook = (incoming: Incoming) => Promise<void>;

/**
 * What Elysia runs and checks before the handler of an operation. Where there is a body, the hook has checked the query
 * and the body: their schemas are there for the handler's types alone.
 */
type OperationHooks<Of> = { parse: "none"; transform: Hook } & (Of extends { body: infer Body }
  ? { body: Body }
  : unknown) &
  (Of extends { query: infer Query } ? { query: Query } : { query: TSchema });

function reading(
  deps: Dependencies,
  route: Route,
  operation: Operation,
  rules: ReadRules,
): (request: Request) => Promise<Json> {
  if (operation.isBodyOptional) return authorizeThenReadOptional(deps, route);
  return authorizeThenRead(deps, route, rules);
}

/**
 * The key, then the body, then what is in them. Elysia would check a body only after `parse`, before which it makes a
 * stream of every body: that costs a small request more than all of our checks.
 */
function readAndCheck(read: (request: Request) => Promise<Json>, body: TSchema, query: TSchema): Hook {
  const checkBody = checkBy(body);
  const checkQuery = checkBy(query);
  return async (incoming) => {
    const value = await read(incoming.request);
    checkQuery(incoming.query);
    checkBody(value);
    incoming.body = value;
  };
}

function hookOf(deps: Dependencies, route: Route, operation: Operation, rules: ReadRules): Hook {
  const { body, query = NoQuery } = operation;
  if (body !== undefined) return readAndCheck(reading(deps, route, operation, rules), body, query);
  const check = route.method === "GET" ? authorize(deps, route) : authorizeUnread(deps, route);
  return async ({ request }) => check(request);
}

/**
 * The hooks of operations by their name: the key is checked first, and requests by the same schemas that the document
 * shows.
 */
export function hooksOf<All extends Operations>(deps: Dependencies, operations: All) {
  return <Name extends RouteName & keyof All>(name: Name, rules: ReadRules = {}) => {
    const operation = operations[name] as Operation;
    const transform = hookOf(deps, routes[name], operation, rules);
    // Whoever sends `?dry_run=1` to an operation without parameters must not believe that it does something.
    const query = operation.body === undefined ? { query: operation.query ?? NoQuery } : {};
    return { parse: "none", transform, ...query } as OperationHooks<All[Name]>;
  };
}
