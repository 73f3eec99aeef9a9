import {
  type AuthenticationFault,
  authenticate,
  type Principal,
} from "../../commands/apiKey/authenticate.ts";
import type { Services } from "../../commands/dependencies.ts";
import { coversSender } from "../../domain/apiKey/state.ts";
import { limitsOf } from "../../domain/workspace/limits.ts";
import { invariant } from "../../kernel/assert.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import { type AddressRange, clientAddress, isClientIn } from "../../kernel/network/clientIp.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import type { Json } from "../../kernel/text/json.ts";
import type { BodiesInFlight, IncomingBody } from "../body/bodyAdmission.ts";
import {
  contentLengthOf,
  type JsonBodyRules,
  readJsonBody,
  readOptionalJsonBody,
  requireJson,
  requireNoBody,
} from "../body/jsonBody.ts";
import { invalid, PRIVATE_HEADERS, Problem, refusedFor } from "./problem.ts";
import type { RateLimits } from "./rateLimits.ts";
import { bodyBytesMax, type Route } from "./routes.ts";

/** What is known of a request beside what it says: filled in on its way through the front door. */
export interface RequestFacts {
  readonly requestId: string;
  readonly startedAt: number;
  principal: Principal | null;
  /** Set once the answer is known, for the log line. */
  code: string | null;
  /** Whether the client was gone before its request had come. */
  hasHungUp: boolean;
  readonly door: Door;
  /** The address at the other end of the connection; null when it is not known. */
  readonly peer: () => string | null;
  /** Headers that the answer carries whatever it is. */
  readonly answerHeaders: Record<string, string>;
  /** The body, once somebody reads it. */
  body: IncomingBody | null;
}

/** What all requests to one service share. */
export interface Door {
  readonly rateLimits: RateLimits;
  readonly bodies: BodiesInFlight;
  readonly trustedProxies: readonly AddressRange[];
}

const facts = new WeakMap<Request, RequestFacts>();

/** Begins a request's facts. */
export function openFacts(
  request: Request,
  { requestId, door, peer }: Pick<RequestFacts, "requestId" | "door" | "peer">,
): RequestFacts {
  const opened: RequestFacts = {
    requestId,
    startedAt: performance.now(),
    principal: null,
    code: null,
    hasHungUp: false,
    door,
    peer,
    answerHeaders: { "x-request-id": requestId, ...PRIVATE_HEADERS },
    body: null,
  };
  facts.set(request, opened);
  return opened;
}

/** The body of a request that has a key: it counts as its workspace's until the request is answered. */
export function bodyOf(request: Request): IncomingBody {
  const opened = factsOf(request);
  opened.body ??= opened.door.bodies.open(principalOf(request).workspaceId);
  return opened.body;
}

/** Lets a request that stands in for another one have the same facts. */
export function shareFacts(request: Request, shared: RequestFacts): void {
  facts.set(request, shared);
}

export function factsOf(request: Request): RequestFacts {
  const found = facts.get(request);
  invariant(found, "every request passes the front door");
  return found;
}

/** Who is calling; a bug when the route lets in callers without a key. */
export function principalOf(request: Request): Principal {
  const { principal } = factsOf(request);
  invariant(principal, "a handler of a route with a scope runs behind the front door");
  return principal;
}

/** The command context of this request. */
export function commandContextOf(request: Request, services: Services): WorkspaceCommandContext {
  const { requestId } = factsOf(request);
  const { workspaceId, keyId } = principalOf(request);
  return { at: services.clock.now(), correlationId: requestId, actor: `api-key:${keyId}`, workspaceId };
}

/**
 * Checks the key, its scope and how often it comes: 401, 403, then 429. Runs before anything else of a request is
 * looked at. What is forbidden counts like any other request of its key.
 */
export function authorize(services: Services, route: Route) {
  return async ({ request }: { request: Request }): Promise<void> => {
    const principal = await authenticate(services, request.headers.get("authorization"));
    if (typeof principal === "string") throw await unauthorized(request, principal);
    const opened = factsOf(request);
    const limits = limitsOf(await services.workspaces.get(principal.workspaceId), services.limitsDefault);
    const { headers, retryAfterSeconds } = await opened.door.rateLimits.count(principal, limits);
    Object.assign(opened.answerHeaders, headers);
    if (route.scope !== null && !principal.scopes.has(route.scope)) {
      throw new Problem("FORBIDDEN", { detail: `this operation needs the scope ${route.scope}` });
    }
    if (principal.clients !== null && !isClientIn(clientOf(request) ?? "", principal.clients)) {
      throw new Problem("FORBIDDEN", { detail: "this key is not accepted from this client's address" });
    }
    if (retryAfterSeconds !== null) throw rateLimited(retryAfterSeconds);
    opened.principal = principal;
    if (request.method === "GET") refuseBodyOfGet(request.headers);
  };
}

/** Bun gives nobody the body of a GET, so its length has to do: up to two bytes it may be `{}`. */
function refuseBodyOfGet(headers: Headers): void {
  const length = contentLengthOf(headers) ?? 0;
  if (length <= "{}".length && !headers.has("transfer-encoding")) return;
  throw invalid("", "is not taken: a GET has none, and its parameters go into the query");
}

function rateLimited(retryAfterSeconds: number): Problem {
  return new Problem("RATE_LIMITED", { headers: { "retry-after": String(retryAfterSeconds) } });
}

const UNAUTHORIZED: Readonly<Record<AuthenticationFault, string>> = {
  missing: "is required: the word Bearer, a space and an API key",
  noBearer: "must be the word Bearer, a space and one API key",
  malformed:
    "holds no API key: one begins with pl_ and has 53 characters; this one may have been cut or mistyped",
  unknown: "holds an API key that this service does not know: it may be of another installation, or made up",
  revoked: "holds an API key that was revoked: issue another one",
  expired: "holds an API key that has expired: issue another one",
};

/** The address that a request comes from, behind proxies that are trusted; null when it is not known. */
function clientOf(request: Request): string | null {
  const { door, peer } = factsOf(request);
  const other = peer();
  if (other === null) return null;
  return clientAddress(other, request.headers.get("x-forwarded-for"), door.trustedProxies);
}

/** Counts a page that is large and needs no key. Throws when its client has had too many of them. */
export async function countPage(request: Request): Promise<void> {
  const address = clientOf(request);
  const { rateLimits } = factsOf(request).door;
  const retryAfterSeconds = address === null ? null : await rateLimits.countPage(address);
  if (retryAfterSeconds !== null) throw rateLimited(retryAfterSeconds);
}

/** A client that keeps on failing is told to wait. Whoever has a valid key at the same address is not affected. */
async function unauthorized(request: Request, fault: AuthenticationFault): Promise<Problem> {
  const address = clientOf(request);
  const problem = refusedFor("UNAUTHORIZED", [{ pointer: "/Authorization", message: UNAUTHORIZED[fault] }]);
  if (address === null) return problem;
  const retryAfterSeconds = await factsOf(request).door.rateLimits.countFailure(address);
  return retryAfterSeconds === null ? problem : rateLimited(retryAfterSeconds);
}

/** For an operation that takes no body: one that says anything is refused. */
export function authorizeUnread(services: Services, route: Route) {
  const check = authorize(services, route);
  return async ({ request }: { request: Request }): Promise<null> => {
    await check({ request });
    await requireNoBody(request, bodyOf(request));
    return null;
  };
}

/** For an operation whose body may be left out. */
export function authorizeThenReadOptional(services: Services, route: Route) {
  const check = authorize(services, route);
  return async ({ request }: { request: Request }): Promise<Json> => {
    await check({ request });
    return readOptionalJsonBody(request, bodyOf(request), { bytesMax: bodyBytesMax(route) });
  };
}

/** What a route with a JSON body asks for beside its scope. */
interface ReadRules extends Pick<JsonBodyRules, "checkLarge"> {
  /** Comes before the body is read. */
  readonly checkHeaders?: (headers: Headers) => void;
}

/**
 * Everything that comes before a body is looked at, and then the body: Elysia validates before `beforeHandle`,
 * so the checks that come first in the order of answers are done where the body is parsed.
 */
export function authorizeThenRead(services: Services, route: Route, rules: ReadRules = {}) {
  const check = authorize(services, route);
  const jsonRules = { ...rules, bytesMax: bodyBytesMax(route) };
  return async ({ request }: { request: Request }): Promise<Json> => {
    await check({ request });
    rules.checkHeaders?.(request.headers);
    requireJson(request.headers);
    return readJsonBody(request, bodyOf(request), jsonRules);
  };
}

/** What stands between the values of a header that was sent more than once. */
const BETWEEN_VALUES = ", ";

/**
 * 8 to 200 characters of 0x20 to 0x7E after trimming (spec: Headers). Two headers cannot be told from one that holds
 * a comma and a space, and a key that somebody on the way added to would make every retry another message.
 */
export function idempotencyKeyOf(headers: Headers): string {
  const given = headers.get("idempotency-key");
  if (given === null)
    throw invalidKey("is required: 8 to 200 printable ASCII characters, another one for each message");
  const key = given.trim();
  if (key.includes(BETWEEN_VALUES)) {
    throw invalidKey("must be sent once, and hold no comma followed by a space");
  }
  if (!/^[\x20-\x7e]*$/.test(key)) throw invalidKey("must hold printable ASCII characters only");
  if (key.length < 8 || key.length > 200)
    throw invalidKey(`must have 8 to 200 characters, not ${key.length}`);
  return key;
}

function invalidKey(message: string): Problem {
  return refusedFor("IDEMPOTENCY_KEY_REQUIRED", [{ pointer: "/Idempotency-Key", message }]);
}

/** Throws where the key is bound to senders and this address is none of them; null: nobody knows it any more. */
export function requireSender(request: Request, address: string | null): void {
  const principal = principalOf(request);
  if (principal.senders === null) return;
  const parsed = address === null ? null : parseAddress(address);
  if (parsed !== null && "canonical" in parsed && coversSender(principal, parsed.canonical)) return;
  throw new Problem("FORBIDDEN", { detail: `this key is bound to ${[...principal.senders].join(", ")}` });
}
