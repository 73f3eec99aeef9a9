import type { Static, TSchema } from "@sinclair/typebox";
import { type Context, Elysia } from "elysia";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { listParametersOf, NoQuery, namedParametersOf } from "../body/commonSchemas.ts";
import { pointerTo } from "../body/jsonLimits.ts";
import { checkBy } from "../body/validation.ts";
import type { ListSource } from "../lists/caughtUpReads.ts";
import { cursorsOfList } from "../lists/cursorPaging.ts";
import { authorize, authorizeThenRead, authorizeUnread } from "./authorization.ts";
import { type Operation, type Operations, paramsOf } from "./operation.ts";
import { invalid } from "./problem.ts";
import { commandContextOf, principalOf } from "./requestContext.ts";
import { urlOf } from "./requestTarget.ts";
import { type Route, type RouteName, routes } from "./routes.ts";

/** Who calls an operation, once the key is checked. */
export interface Caller {
  readonly principal: Principal;
  readonly workspaceId: string;
  /** The context of a command that the request gives now. */
  readonly commandContext: () => WorkspaceCommandContext;
}

function callerOf(deps: Dependencies, request: Request): Caller {
  const principal = principalOf(request);
  const { workspaceId } = principal;
  return { principal, workspaceId, commandContext: () => commandContextOf(request, deps) };
}

/** A request as Elysia passes it on its way to the handler. */
interface Incoming {
  readonly request: Request;
  readonly set: Context["set"];
  readonly params?: Record<string, string>;
  readonly query: Record<string, unknown>;
  body: unknown;
  caller?: Caller;
}

type Hook = (incoming: Incoming) => Promise<void>;

/**
 * Checks the key, reads the body, then checks path, query and body; the status is that of success, unless the handler sets
 * another. Elysia would check a body only after `parse`, before which it turns every body into a stream: for a small
 * request that costs more than all our checks.
 */
function hookOf(deps: Dependencies, route: Route, operation: Operation): Hook {
  const { body, query = NoQuery } = operation;
  const { status } = operation.success;
  const checkParams = checkBy(paramsOf(route, operation));
  if (body === undefined) {
    const check = route.method === "GET" ? authorize(deps, route) : authorizeUnread(deps, route);
    const lists = listParametersOf(query);
    const named = namedParametersOf(query);
    return async (incoming) => {
      await check(incoming.request);
      incoming.caller = callerOf(deps, incoming.request);
      checkParams(incoming.params ?? {});
      if (lists.length > 0) joinRepeated(incoming, lists);
      for (const [name, charactersMax] of named) gatherNamed(incoming, name, charactersMax);
      incoming.set.status = status;
    };
  }
  const read = authorizeThenRead(deps, route, operation);
  const checkBody = checkBy(body);
  const checkQuery = checkBy(query);
  return async (incoming) => {
    const value = await read(incoming.request);
    incoming.caller = callerOf(deps, incoming.request);
    checkParams(incoming.params ?? {});
    checkQuery(incoming.query);
    checkBody(value);
    incoming.body = value;
    incoming.set.status = status;
  };
}

/** Joins the values of list parameters that are given several times; Elysia took the last one. */
function joinRepeated({ request, query }: Incoming, lists: readonly string[]): void {
  const given = urlOf(request).searchParams;
  for (const name of lists) if (given.has(name)) query[name] = given.getAll(name).join(",");
}

/** Makes one object of the parameters `name[…]`. Throws INVALID_REQUEST if one that begins so has another form. */
function gatherNamed({ query }: Incoming, name: string, nameCharactersMax: number): void {
  const given = Object.keys(query).filter((key) => key.startsWith(name));
  if (given.length === 0) return;
  const form = new RegExp(`^${name}\\[(.{1,${nameCharactersMax}})\\]$`, "su");
  const members = given.map((key): readonly [string, unknown] => {
    const [, member] = form.exec(key) ?? [];
    const fault = `must have the form ${name}[name]=value, with a name of 1 to ${nameCharactersMax} characters`;
    if (member === undefined) throw invalid(pointerTo("", key), fault);
    return [member, query[key]];
  });
  for (const key of given) delete query[key];
  query[name] = Object.fromEntries(members);
}

/** What most controllers need. */
export interface ControllerOptions extends ListSource {
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
}

/** The names of a path's parameters: `:id` is `id`. */
type ParameterOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** A request for an operation, after its key, query and body are checked. */
interface Call<Name extends RouteName, Of> {
  readonly request: Request;
  readonly caller: Caller;
  readonly params: Readonly<Record<ParameterOf<(typeof routes)[Name]["path"]>, string>>;
  readonly query: Of extends { query: infer Query extends TSchema } ? Static<Query> : object;
  readonly body: Of extends { body: infer Body extends TSchema } ? Static<Body> : unknown;
  readonly set: Context["set"];
}

type AnyHandler = (context: Context & { readonly caller: Caller }) => Promise<unknown>;
type ElysiaHandler = (context: Context) => Promise<unknown>;

/** Answers a list. Refuses a cursor from another list, which would point at a meaningless place here. */
function ofOneList({ path }: Route, answer: AnyHandler): AnyHandler {
  return async (context) => {
    const { caller, params = {}, query } = context;
    const ids = Object.values(params).map((id) => id.toLowerCase());
    const cursors = cursorsOfList([caller.workspaceId, path, ...ids]);
    if (query.cursor !== undefined) query.cursor = cursors.taken(query.cursor);
    const page = (await answer(context)) as { readonly next_cursor?: string | null };
    return typeof page.next_cursor === "string"
      ? { ...page, next_cursor: cursors.given(page.next_cursor) }
      : page;
  };
}

/** Answers an operation. It must be async: Elysia lets a rejection of any other handler escape. */
type Handler<Name extends RouteName, Of> = (call: Call<Name, Of>) => Promise<unknown>;

/**
 * Answers operations by name, under the methods and paths of {@link routes}. Checks the key first, then the request
 * with the schemas that the document shows.
 */
export function operationController<All extends Operations, Name extends RouteName & keyof All>(
  deps: Dependencies,
  operations: All,
  handlers: { readonly [Key in Name]: Handler<Key, All[Key]> },
): Elysia {
  const controller = new Elysia({ normalize: false });
  for (const [name, answer] of Object.entries(handlers) as [Name, AnyHandler][]) {
    const route: Route = routes[name];
    const operation = operations[name] as Operation;
    const handler = operation.query?.properties.cursor === undefined ? answer : ofOneList(route, answer);
    const transform = hookOf(deps, route, operation);
    // A caller that sends `?dry_run=1` to an operation without parameters must not believe that it works.
    const query = operation.body === undefined ? { query: operation.query ?? NoQuery } : {};
    // Its hook has added the caller by then.
    controller.route(route.method, route.path, handler as ElysiaHandler, {
      parse: "none",
      transform,
      ...query,
    });
  }
  return controller;
}
