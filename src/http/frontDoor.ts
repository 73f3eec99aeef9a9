import { authenticate, type Principal } from "../commands/authenticate.ts";
import type { Services } from "../commands/services.ts";
import { invariant } from "../kernel/assert.ts";
import type { Json } from "../kernel/json.ts";
import type { Occasion } from "../kernel/metadata.ts";
import { readJsonBody, requireJson } from "./jsonBody.ts";
import { Problem } from "./problem.ts";
import type { Route } from "./routes.ts";

/** What is known of a request beside what it says: filled in on its way through the front door. */
export interface RequestFacts {
  readonly requestId: string;
  readonly startedAt: number;
  principal: Principal | null;
  /** Set once the answer is known, for the log line. */
  code: string | null;
}

const facts = new WeakMap<Request, RequestFacts>();

/** Begins a request's facts. */
export function openFacts(request: Request, requestId: string): RequestFacts {
  const opened = { requestId, startedAt: performance.now(), principal: null, code: null };
  facts.set(request, opened);
  return opened;
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

/** This request as an occasion for events. */
export function occasionOf(request: Request, services: Services): Occasion {
  const { requestId } = factsOf(request);
  const { workspaceId, keyId } = principalOf(request);
  return { at: services.clock.now(), correlationId: requestId, actor: `api-key:${keyId}`, workspaceId };
}

/** Checks the key and its scope: 401, then 403. Runs before anything else of a request is looked at. */
export function authorize(services: Services, route: Route) {
  return async ({ request }: { request: Request }): Promise<void> => {
    const principal = await authenticate(services, request.headers.get("authorization"));
    if (principal === null) throw new Problem("UNAUTHORIZED");
    if (route.scope !== null && !principal.scopes.has(route.scope)) {
      throw new Problem("FORBIDDEN", { detail: `this operation needs the scope ${route.scope}` });
    }
    factsOf(request).principal = principal;
  };
}

/** For an operation that takes no body: one that comes all the same is left unread, where Elysia would parse it. */
export function authorizeUnread(services: Services, route: Route) {
  const check = authorize(services, route);
  return async ({ request }: { request: Request }): Promise<null> => {
    await check({ request });
    return null;
  };
}

/**
 * Everything that comes before a body is looked at, and then the body: Elysia validates before `beforeHandle`,
 * so the checks that come first in the order of answers are done where the body is parsed.
 */
export function authorizeThenRead(
  services: Services,
  route: Route,
  checkHeaders?: (headers: Headers) => void,
) {
  const check = authorize(services, route);
  return async ({ request }: { request: Request }): Promise<Json> => {
    await check({ request });
    checkHeaders?.(request.headers);
    requireJson(request.headers);
    return readJsonBody(request);
  };
}

/** 8 to 200 characters of 0x20 to 0x7E after trimming (spec: Headers). */
export function idempotencyKeyOf(headers: Headers): string {
  const key = (headers.get("idempotency-key") ?? "").trim();
  if (!/^[\x20-\x7e]{8,200}$/.test(key)) {
    throw new Problem("IDEMPOTENCY_KEY_REQUIRED", {
      detail: "the Idempotency-Key header must hold 8 to 200 printable ASCII characters",
    });
  }
  return key;
}
