import type { EndedKey, Principal } from "../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { invariant } from "../../kernel/assert.ts";
import { keyActor } from "../../kernel/event/actor.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type AddressRange, clientAddress } from "../../kernel/network/clientIp.ts";
import type { BodyAdmissionControl, IncomingBody } from "../body/bodyAdmission.ts";
import type { RateLimits } from "../limits/rateLimits.ts";
import type { ReadsInFlight } from "../limits/readsInFlight.ts";
import type { Problem } from "./problem.ts";
import { PRIVATE_HEADERS } from "./problemResponse.ts";

/** What we know about a request besides its content; filled in while it is answered. */
export interface RequestContext {
  readonly requestId: string;
  readonly startedAt: number;
  principal: Principal | null;
  /** The caller's key if it is no longer accepted, for the log line. */
  endedKey: EndedKey | null;
  /** Set once the answer is known, for the log line. */
  code: string | null;
  /** Whether the client disconnected before its request had arrived. */
  hasHungUp: boolean;
  readonly server: ServerContext;
  /** The address at the other end of the connection; null if unknown. */
  readonly peer: () => string | null;
  /** Whether the answer was given, even if its work goes on. */
  isAnswered: boolean;
  /** Headers that every answer carries. */
  readonly answerHeaders: Record<string, string>;
  /** The body, once it is read. */
  body: IncomingBody | null;
  /** Ends the count of this read; null if it is not counted. */
  endRead: (() => void) | null;
  /** Whether the answer is streamed for as long as the client likes, so nobody waits for its end. */
  isStreamed: boolean;
  /** Refused parts of a request that is otherwise accepted; each gets its own log line. */
  readonly refusedParts: RefusedPart[];
  /** The path for log lines, if `routes` does not know it. */
  route: string | null;
  /** Renders a refusal for people; null: as `application/problem+json`. */
  problemPage: ((problem: Problem) => Response) | null;
}

export interface RefusedPart {
  readonly problem: Problem;
  readonly error: unknown;
}

/** What all requests to one service share. */
export interface ServerContext {
  /** Shared with submission over SMTP. */
  readonly rateLimits: RateLimits;
  /** Shared with submission over SMTP. */
  readonly bodies: BodyAdmissionControl;
  readonly reads: ReadsInFlight;
  /** Proxies whose X-Forwarded-For we trust. */
  readonly trustedProxies: readonly AddressRange[];
}

/** The context is stored on the request itself, which is cheaper than a weak map of all requests. */
const CONTEXT = Symbol("request context");
type Opened = Request & { [CONTEXT]?: RequestContext };

export function openRequestContext(
  request: Request,
  { requestId, server, peer }: Pick<RequestContext, "requestId" | "server" | "peer">,
): RequestContext {
  const opened: RequestContext = {
    requestId,
    startedAt: performance.now(),
    principal: null,
    endedKey: null,
    code: null,
    hasHungUp: false,
    server,
    peer,
    isAnswered: false,
    answerHeaders: { "x-request-id": requestId, ...PRIVATE_HEADERS },
    body: null,
    endRead: null,
    isStreamed: false,
    refusedParts: [],
    route: null,
    problemPage: null,
  };
  (request as Opened)[CONTEXT] = opened;
  return opened;
}

/** The body of a request with a key; it counts against its workspace until the request is answered. */
export function bodyOf(request: Request): IncomingBody {
  return bodyWithoutKey(request, principalOf(request).workspaceId);
}

/** The body of a request without a key; it counts against `owner` until the request is answered. */
export function bodyWithoutKey(request: Request, owner: string): IncomingBody {
  const opened = requestContextOf(request);
  opened.body ??= opened.server.bodies.open(owner);
  return opened.body;
}

/**
 * Runs work that reads this many bytes for a request, and reserves memory for them among its workspace's bodies: a
 * short request may ask for a message of 10 MB. Throws a 503 when there is no room.
 */
export async function withRoomFor<Result>(
  request: Request,
  bytes: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const room = requestContextOf(request).server.bodies.open(principalOf(request).workspaceId);
  room.admit(bytes);
  try {
    return await work();
  } finally {
    room.release();
  }
}

/** Counts a request that reads from a workspace until it is answered. Throws RATE_LIMITED. */
export function beginRead(request: Request, workspaceId: string): void {
  const context = requestContextOf(request);
  context.endRead = context.server.reads.begin(workspaceId);
}

/** Counts a file that streams to its client; returns the function that ends the count. Throws RATE_LIMITED. */
export function beginStream(request: Request): () => void {
  return requestContextOf(request).server.reads.begin(principalOf(request).workspaceId);
}

/** Shares the context with a request that replaces another one. */
export function shareRequestContext(request: Request, shared: RequestContext): void {
  (request as Opened)[CONTEXT] = shared;
}

export function requestContextOf(request: Request): RequestContext {
  const found = (request as Opened)[CONTEXT];
  invariant(found, "every request is answered by the server, which begins its context");
  return found;
}

/** The caller; a bug if the route admits callers without a key. */
export function principalOf(request: Request): Principal {
  const { principal } = requestContextOf(request);
  invariant(principal, "a handler of a route with a scope runs once its request is authorized");
  return principal;
}

export function commandContextOf(request: Request, deps: Dependencies): WorkspaceCommandContext {
  const context = contextOfKey(deps, principalOf(request), requestContextOf(request).requestId);
  return { ...context, isAbandoned: () => isAbandoned(request) };
}

/** Whether nobody waits for the answer any more: the client has one, or has disconnected. */
export function isAbandoned(request: Request): boolean {
  return requestContextOf(request).isAnswered || request.signal.aborted;
}

/** The context of a command that a key gives now. */
export function contextOfKey(
  { clock }: Dependencies,
  { workspaceId, keyId, isTest }: Principal,
  correlationId: string,
): WorkspaceCommandContext {
  return { at: clock.now(), correlationId, actor: keyActor(keyId), workspaceId, isTest };
}

/** The client's address, behind trusted proxies; null if unknown. */
export function clientOf(request: Request): string | null {
  const { server, peer } = requestContextOf(request);
  const other = peer();
  if (other === null) return null;
  return clientAddress(other, request.headers.get("x-forwarded-for"), server.trustedProxies);
}
