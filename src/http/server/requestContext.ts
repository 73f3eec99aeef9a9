import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { invariant } from "../../kernel/assert.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type AddressRange, clientAddress } from "../../kernel/network/clientIp.ts";
import type { BodyAdmissionControl, IncomingBody } from "../body/bodyAdmission.ts";
import type { RateLimits } from "../limits/rateLimits.ts";
import type { ReadsInFlight } from "../limits/readsInFlight.ts";
import type { Problem } from "./problem.ts";
import { PRIVATE_HEADERS } from "./problemResponse.ts";

/** What is known of a request beside what it says: filled in while it is answered. */
export interface RequestContext {
  readonly requestId: string;
  readonly startedAt: number;
  principal: Principal | null;
  /** Set once the answer is known, for the log line. */
  code: string | null;
  /** Whether the client was gone before its request had come. */
  hasHungUp: boolean;
  readonly server: ServerContext;
  /** The address at the other end of the connection; null when it is not known. */
  readonly peer: () => string | null;
  /** Headers that the answer carries whatever it is. */
  readonly answerHeaders: Record<string, string>;
  /** The body, once somebody reads it. */
  body: IncomingBody | null;
  /** Ends the count of what is asked to be seen; null where it is not counted. */
  endRead: (() => void) | null;
  /** Whether the answer comes in pieces for as long as its client likes: nobody waits for its end. */
  isStreamed: boolean;
  /** What of a request is refused that is accepted otherwise, for log lines of their own. */
  readonly refusedParts: RefusedPart[];
  /** How a log line names the path, where `routes` does not know it. */
  route: string | null;
  /** How a refusal is answered where a person is to read it; null: as `application/problem+json`. */
  problemPage: ((problem: Problem) => Response) | null;
}

/** One of several things that a request asks for, and why it is refused. */
export interface RefusedPart {
  readonly problem: Problem;
  readonly error: unknown;
}

/** What all requests to one service share. */
export interface ServerContext {
  readonly rateLimits: RateLimits;
  readonly bodies: BodyAdmissionControl;
  readonly reads: ReadsInFlight;
  readonly trustedProxies: readonly AddressRange[];
}

/** Where a request has its context: on itself, which costs less than a weak map of all requests. */
const CONTEXT = Symbol("request context");
type Opened = Request & { [CONTEXT]?: RequestContext };

/** Begins a request's context. */
export function openRequestContext(
  request: Request,
  { requestId, server, peer }: Pick<RequestContext, "requestId" | "server" | "peer">,
): RequestContext {
  const opened: RequestContext = {
    requestId,
    startedAt: performance.now(),
    principal: null,
    code: null,
    hasHungUp: false,
    server,
    peer,
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

/** The body of a request that has a key: it counts as its workspace's until the request is answered. */
export function bodyOf(request: Request): IncomingBody {
  return bodyWithoutKey(request, principalOf(request).workspaceId);
}

/** The body of a request that needs no key: it counts as `owner`'s until the request is answered. */
export function bodyWithoutKey(request: Request, owner: string): IncomingBody {
  const opened = requestContextOf(request);
  opened.body ??= opened.server.bodies.open(owner);
  return opened.body;
}

/**
 * Does work on so many bytes that are read for a request, in the room of its workspace's bodies: a short request may ask
 * for a message of 10 MB. Throws a 503 when there is no room.
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

/** Counts a request that asks to see something of a workspace, until it is answered. Throws RATE_LIMITED. */
export function beginRead(request: Request, workspaceId: string): void {
  const context = requestContextOf(request);
  context.endRead = context.server.reads.begin(workspaceId);
}

/** Counts a file that is read as its client takes it; answers what ends that. Throws RATE_LIMITED. */
export function beginStream(request: Request): () => void {
  return requestContextOf(request).server.reads.begin(principalOf(request).workspaceId);
}

/** Gives a request that replaces another one the same context. */
export function shareRequestContext(request: Request, shared: RequestContext): void {
  (request as Opened)[CONTEXT] = shared;
}

export function requestContextOf(request: Request): RequestContext {
  const found = (request as Opened)[CONTEXT];
  invariant(found, "every request is answered by the server, which begins its context");
  return found;
}

/** Who is calling; a bug when the route lets in callers without a key. */
export function principalOf(request: Request): Principal {
  const { principal } = requestContextOf(request);
  invariant(principal, "a handler of a route with a scope runs once its request is authorized");
  return principal;
}

/** The command context of this request. */
export function commandContextOf(request: Request, deps: Dependencies): WorkspaceCommandContext {
  const { requestId } = requestContextOf(request);
  const { workspaceId, keyId, isTest } = principalOf(request);
  const actor = `api-key:${keyId}`;
  return { at: deps.clock.now(), correlationId: requestId, actor, workspaceId, isTest };
}

/** The address that a request comes from, behind proxies that are trusted; null when it is not known. */
export function clientOf(request: Request): string | null {
  const { server, peer } = requestContextOf(request);
  const other = peer();
  if (other === null) return null;
  return clientAddress(other, request.headers.get("x-forwarded-for"), server.trustedProxies);
}
