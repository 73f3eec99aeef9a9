import {
  type AuthenticationFault,
  authenticate,
  type Principal,
  principalOfKey,
} from "../../commands/apiKey/authenticate.ts";
import { keyCoversEmailSender } from "../../commands/apiKey/keyCoversEmailSender.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { EmailView } from "../../commands/email/readEmail.ts";
import { permits, type Scope, scopesPermitting } from "../../domain/apiKey/scopes.ts";
import { coversSender } from "../../domain/apiKey/state.ts";
import { limitsOf } from "../../domain/workspace/workspaceLimits.ts";
import { isClientIn } from "../../kernel/network/clientIp.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import type { Json } from "../../kernel/text/json.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { contentLengthOf } from "../body/bodyBytes.ts";
import { readJsonBody, requireJson, requireNoBody } from "../body/jsonBody.ts";
import { checkMembers, checkValue } from "../body/jsonLimits.ts";
import type { Operation } from "./operation.ts";
import { invalid, Problem, refusedFor, tooManyRequests } from "./problem.ts";
import { beginRead, bodyOf, clientOf, principalOf, requestContextOf } from "./requestContext.ts";
import type { Route } from "./routes.ts";

/**
 * Checks the key, its scope, its client's address and its rate: 401, 403, then 429. Runs before anything else in a
 * request is read. A forbidden request counts against its key's rate like any other.
 */
export function authorize(deps: Dependencies, route: Route) {
  return async (request: Request): Promise<void> => {
    const principal = await authenticate(deps, request.headers.get("authorization"));
    const context = requestContextOf(request);
    if ("fault" in principal) {
      context.endedKey = principal.endedKey;
      throw unauthorized(request, principal.fault);
    }
    // First, so that the log says whose request was refused.
    context.principal = principal;
    const { workspaceId } = principal;
    const { state: workspace } = await deps.workspaces.loaded(workspaceId);
    const limits = limitsOf(workspace, deps.limitsDefault);
    const { headers, retryAfterSeconds } = context.server.rateLimits.count(principal, limits);
    Object.assign(context.answerHeaders, headers);
    if (route.scope !== null && !permits(principal.scopes, route.scope)) {
      throw new Problem("FORBIDDEN", { detail: `this operation needs ${scopeText(route.scope)}` });
    }
    requireClient(request, principal);
    if (retryAfterSeconds !== null) throw tooManyRequests(retryAfterSeconds);
    if (request.method !== "GET") return;
    beginRead(request, workspaceId);
    refuseBodyOfGet(request.headers);
  };
}

/** The scope that is needed, as the end of a sentence: with the wider one that is enough too. */
export function scopeText(scope: Scope): string {
  return `the scope ${scopesPermitting(scope).join(" or ")}`;
}

/** Bun never exposes the body of a GET, so we go by its length: up to two bytes it may be `{}`. */
function refuseBodyOfGet(headers: Headers): void {
  const length = contentLengthOf(headers) ?? 0;
  if (length <= "{}".length && !headers.has("transfer-encoding")) return;
  throw invalid("", "is not taken: a GET has none, and its parameters go into the query");
}

const UNAUTHORIZED: Readonly<Record<AuthenticationFault, string>> = {
  missing: "is required: the word Bearer, a space and an API key",
  noBearer: "must be the word Bearer, a space and one API key",
  malformed:
    "holds no API key: one begins with pl_ and has 53 characters, or with pl_test_ and 58; this one may have been cut or mistyped",
  unknown:
    "holds an API key that this service does not know: it may belong to another installation, or made up",
  revoked: "holds an API key that was revoked: issue another one",
  expired: "holds an API key that has expired: issue another one",
};

const TOO_MANY_FAILURES = "too many requests without a valid API key came from this address: check the key";

/** Counts a large page that needs no key. Throws when its client has had too many. */
export function countPage(request: Request): void {
  const address = clientOf(request);
  const { rateLimits } = requestContextOf(request).server;
  const retryAfterSeconds = address === null ? null : rateLimits.countPage(address);
  if (retryAfterSeconds !== null) throw tooManyRequests(retryAfterSeconds);
}

/**
 * Counts a request whose secret was refused. Returns how many seconds its client has to wait, null if none. A client
 * that keeps failing has to wait, but a valid secret from the same address is not affected: otherwise whoever shares
 * or borrows an address could keep others out.
 */
export function countFailure(request: Request): number | null {
  const address = clientOf(request);
  return address === null ? null : requestContextOf(request).server.rateLimits.countFailure(address);
}

function unauthorized(request: Request, fault: AuthenticationFault): Problem {
  const retryAfterSeconds = countFailure(request);
  if (retryAfterSeconds !== null) return tooManyRequests(retryAfterSeconds, TOO_MANY_FAILURES);
  return refusedFor("UNAUTHORIZED", [{ pointer: "/Authorization", message: UNAUTHORIZED[fault] }]);
}

/** For an operation without a body: refuses one that has content. */
export function authorizeUnread(deps: Dependencies, route: Route) {
  const check = authorize(deps, route);
  return async (request: Request): Promise<void> => {
    await check(request);
    await requireNoBody(request, bodyOf(request));
  };
}

/** Runs all checks that come before the body, then reads it; an empty object if it may be left out, and was. */
export function authorizeThenRead(
  deps: Dependencies,
  route: Route,
  { checkHeaders, isBodyOptional, body: schema }: Pick<Operation, "checkHeaders" | "isBodyOptional" | "body">,
) {
  const authorized = authorize(deps, route);
  // An open object is somebody else's: a provider's report.
  const check =
    schema?.additionalProperties === true ? checkMembers(Object.keys(schema.properties)) : checkValue;
  const isOptional = isBodyOptional === true;
  return async (request: Request): Promise<Json> => {
    await authorized(request);
    checkHeaders?.(request.headers);
    if (!isOptional) requireJson(request.headers);
    const value = await readJsonBody(request, bodyOf(request), route.bodyBytesMax, { check, isOptional });
    await requireUsableKey(deps, request);
    return value;
  };
}

/** A key that is revoked works for this long at most. */
const REVOKED_KEY_MS_MAX = SECOND_MS;

/** Whether the body of a request was so long on its way that its key may have been revoked meanwhile. */
export function wasLongOnItsWay(request: Request): boolean {
  return bodyOf(request).waitedMs(performance.now()) >= REVOKED_KEY_MS_MAX;
}

/** Checks the key again if the body was long on its way. Throws UNAUTHORIZED. */
export async function requireUsableKey(deps: Dependencies, request: Request): Promise<void> {
  if (!wasLongOnItsWay(request)) return;
  if ((await principalOfKey(deps, principalOf(request).keyId)) !== null) return;
  const message = "holds an API key that was revoked or has expired while the body was on its way";
  throw refusedFor("UNAUTHORIZED", [{ pointer: "/Authorization", message }]);
}

/** Whether a key's client addresses include that of the request. An unknown address is in no range. */
export function isFromAllowedClient(request: Request, { clients }: Pick<Principal, "clients">): boolean {
  return clients === null || isClientIn(clientOf(request) ?? "", clients);
}

/** Throws if the key is bound to client addresses and the request comes from another. */
export function requireClient(request: Request, principal: Pick<Principal, "clients">): void {
  if (isFromAllowedClient(request, principal)) return;
  throw new Problem("FORBIDDEN", { detail: "this key is not accepted from this client's address" });
}

/** Throws if the key is bound to senders and this address is not one of them. Null: it may be any address. */
export function requireSender(principal: Principal, address: string | null): void {
  if (principal.senders === null) return;
  const parsed = address === null ? null : parseAddress(address);
  if (parsed !== null && "canonical" in parsed && coversSender(principal, parsed.canonical)) return;
  throw boundToOthers(principal.senders);
}

/** Throws if the key is bound to senders and the message is from none of them, whether its content is erased or not. */
export async function requireSenderOf(
  deps: Pick<Dependencies, "keys" | "senders">,
  principal: Principal,
  view: EmailView,
): Promise<void> {
  if (principal.senders === null || (await keyCoversEmailSender(deps, principal, view))) return;
  throw boundToOthers(principal.senders);
}

function boundToOthers(senders: ReadonlySet<string>): Problem {
  return new Problem("FORBIDDEN", { detail: `this key is bound to ${[...senders].join(", ")}` });
}
