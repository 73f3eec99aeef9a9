import { type AnyElysia, Elysia, type ErrorContext, ParseError, ValidationError } from "elysia";
import { newRequestId } from "../../kernel/ids.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import { contentLengthOf } from "../body/bodyBytes.ts";
import { discardUnreadBody } from "../body/discardUnreadBody.ts";
import { validationProblem } from "../body/validation.ts";
import { createAnswerTimeouts } from "../limits/answerTimeouts.ts";
import { ReadsInFlight } from "../limits/readsInFlight.ts";
import type { RequestsInFlight } from "../limits/requestsInFlight.ts";
import { UnreadResponses } from "../limits/unreadResponses.ts";
import { LOG_FROZEN, Problem, unavailable } from "./problem.ts";
import { problemOf } from "./problemOfError.ts";
import { problemResponse } from "./problemResponse.ts";
import {
  openRequestContext,
  type RequestContext,
  requestContextOf,
  type ServerContext,
} from "./requestContext.ts";
import { type RequestLog, requestLine } from "./requestLog.ts";
import { hasReadablePath, pathOf, routable } from "./requestTarget.ts";
import { methodsOf, nearestPath, operationsBelow } from "./routeMatching.ts";
import { routes } from "./routes.ts";

/** The part of the server that answering a request needs. */
interface Connections {
  requestIP(request: Request): { readonly address: string } | null;
}

export interface ServerOptions extends Omit<ServerContext, "reads"> {
  readonly basePath: string;
  /** Every handler must answer within this time, in ms; otherwise 503. Waiting for the body does not count. */
  readonly requestTimeoutMs: number;
  readonly controllers: readonly AnyElysia[];
  readonly requests: RequestsInFlight;
  /**
   * Whether the log continues elsewhere: then only requests about the process itself are answered. Throws `StoreError` if
   * the log cannot be read.
   */
  readonly isClosed: () => boolean | Promise<boolean>;
  readonly log: RequestLog;
}

/** Whether the error means that the client disconnected before its body had arrived. */
function isEndOfConnection(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** The problem for a path without a route, or without one for this method. `path` is below `basePath`, or "". */
function unknownRoute(request: Request, path: string, basePath: string): Problem {
  const methods = methodsOf(path);
  const below = operationsBelow(path).map((one) => `${one.method} ${basePath}${one.path}`);
  const belowIt = below.length === 0 ? "" : `. Below it: ${below.join(", ")}`;
  if (methods.length === 0) {
    const asked = path === "" ? pathOf(request) : path;
    const meant = nearestPath(request.method, asked);
    const slashes = asked.includes("//") ? ", without doubled slashes" : "";
    const hint = meant === null ? belowIt : `. Did you mean ${basePath}${meant}${slashes}?`;
    return new Problem("NOT_FOUND", {
      detail: `There is no such path: ${basePath}${routes.docs.path} lists all${hint}`,
    });
  }
  return new Problem("METHOD_NOT_ALLOWED", {
    detail: `This path takes ${methods.join(", ").replace(/, (?=\w+$)/, " and ")}, not ${request.method}${belowIt}`,
    headers: { allow: methods.join(", ") },
  });
}

/** The problem for a path whose percent-encoding is no text: where the path of a route has an id, it cannot be one. */
function unreadablePath(request: Request, basePath: string): Problem {
  const path = pathBelow(request, basePath);
  if (!methodsOf(path).includes(request.method)) return unknownRoute(request, path, basePath);
  return new Problem("INVALID_REQUEST", { detail: "the path is not UTF-8 with percent-encoding" });
}

/** The path below `basePath`; empty if the request is for another one. */
function pathBelow(request: Request, basePath: string): string {
  const whole = pathOf(request);
  return whole.startsWith(`${basePath}/`) ? whole.slice(basePath.length) : "";
}

/** All controllers in one Elysia, whose errors become problems. */
function routerOf({
  basePath,
  controllers,
  log,
}: ServerOptions): (request: Request) => Response | Promise<Response> {
  // With its default, Elysia looks for the path too far right if the host name is shorter than four characters.
  const handler = { standardHostname: false };
  const app = new Elysia({ normalize: false, prefix: basePath, handler })
    .onRequest(({ request, set }) => {
      // Use the same object, so headers added later reach the answer too.
      set.headers = requestContextOf(request).answerHeaders;
    })
    .onError(({ error, request, code }) => errorResponse({ error, request, code }, { basePath, log }));
  for (const controller of controllers) app.use(controller);
  return app.fetch;
}

/** The answer to a failed request; logs what is our own fault. */
function errorResponse(
  { error, request, code }: Pick<ErrorContext, "request"> & { error: unknown; code: unknown },
  { basePath, log }: Pick<ServerOptions, "basePath" | "log">,
): Response {
  const context = requestContextOf(request);
  const path = pathBelow(request, basePath);
  // Elysia also reports a problem's own code, so NOT_FOUND alone does not mean that no route matched.
  const isUnknownRoute = code === "NOT_FOUND" && !(error instanceof Problem);
  const cause = error instanceof ParseError ? error.cause : error;
  const known = cause instanceof ValidationError ? validationProblem(cause) : problemOf(cause);
  const problem = isUnknownRoute ? unknownRoute(request, path, basePath) : known;
  context.hasHungUp = problem === null && isEndOfConnection(cause);
  if (!context.hasHungUp && (problem === null || problem.status >= 500))
    log.failed(context.requestId, reasonOf(error));
  return answerProblem(problem ?? new Problem("INTERNAL_ERROR"), context);
}

const TOO_LATE = "the request took too long";

/** Answers one request: routes it, enforces its time limit, logs it. Opens no port. */
export function requestHandler(
  options: ServerOptions,
): (request: Request, connections: Connections) => Promise<Response> {
  const { basePath, log } = options;
  const handle = routerOf(options);
  const timeouts = createAnswerTimeouts(options.requestTimeoutMs);
  const unread = new UnreadResponses();
  const shared: ServerContext = { ...options, reads: new ReadsInFlight() };
  const answer = async (request: Request, context: RequestContext): Promise<Response> => {
    // Count first, then check for a freeze: whoever freezes the log and sees no request in flight has seen them all.
    options.requests.begin();
    try {
      checkFraming(request.headers);
      if (!hasReadablePath(request)) throw unreadablePath(request, basePath);
      if (needsLog(request, basePath) && (await options.isClosed()))
        return answerUnavailable(LOG_FROZEN, context);
      return await handle(routable(request, context));
    } catch (error) {
      const problem = problemOf(error);
      if (problem === null) throw error;
      if (!(error instanceof Problem)) log.failed(context.requestId, reasonOf(error));
      return answerProblem(problem, context);
    } finally {
      // Only when the work is over, even long after a 503: until then the bytes are in memory.
      context.body?.release();
      context.endRead?.();
      options.requests.end();
    }
  };
  return async (request, connections) => {
    const peer = () => connections.requestIP(request)?.address ?? null;
    const context = openRequestContext(request, { requestId: newRequestId(), server: shared, peer });
    const response = await timeouts.within(
      answer(request, context),
      () => answerUnavailable(TOO_LATE, context),
      (now) => context.body?.waitedMs(now) ?? 0,
    );
    context.isAnswered = true;
    const { status } = response;
    const line = () => requestLine(request, response, context, basePath);
    const hasHungUp = context.hasHungUp || (status >= 400 && status < 500 && request.signal.aborted);
    log.answered({ status, hasHungUp, hasEndedKey: context.endedKey !== null, line });
    for (const { problem, error } of context.refusedParts) {
      const { status, code } = problem;
      if (status >= 500) log.failed(context.requestId, reasonOf(error));
      log.answered({
        status,
        hasHungUp: false,
        hasEndedKey: false,
        line: () => ({ ...line(), status, code }),
      });
    }
    if (request.method === "HEAD") return withoutBody(response, context);
    // The answer to a send is small enough to go to the system whole.
    if (status === 202) return response;
    await discardUnreadBody(request, response);
    return unread.hold(response, context);
  };
}

/** The answer to HEAD: GET's headers, and the length of the body it leaves out, if there is one (RFC 9110 §8.6). */
async function withoutBody(response: Response, { isStreamed }: RequestContext): Promise<Response> {
  const headers = new Headers(response.headers);
  // Bun omits it from answers to HEAD (RFC 9110 §6.6.1).
  if (!headers.has("date")) headers.set("date", new Date().toUTCString());
  if (isStreamed) {
    await response.body?.cancel();
    return new Response(null, { status: response.status, headers });
  }
  const { byteLength } = await response.arrayBuffer();
  if (response.status !== 204 && response.status !== 304) headers.set("content-length", String(byteLength));
  return new Response(null, { status: response.status, headers });
}

/** A refusal in the form that its reader expects. */
function answerProblem(problem: Problem, context: RequestContext): Response {
  context.code = problem.code;
  return context.problemPage?.(problem) ?? problemResponse(problem, context.requestId);
}

/** Operations about the process and its document, not about the log. */
const WITHOUT_LOG: readonly string[] = [
  routes.home,
  routes.live,
  routes.ready,
  routes.docs,
  routes.openApi,
].map(({ path }) => path);

/** Whether a request needs a log that continues here. */
function needsLog(request: Request, basePath: string): boolean {
  const path = pathOf(request).slice(basePath.length);
  return !WITHOUT_LOG.includes(path) && methodsOf(path).includes(request.method);
}

/** A 503 that says why, and that the same request may work later. */
function answerUnavailable(detail: string, context: RequestContext): Response {
  const { answerHeaders: headers } = context;
  return answerProblem(unavailable(detail, { headers }), context);
}

/**
 * Refuses what a proxy in front may have understood differently (RFC 9112 §3.2, §6.3). Bun itself answers 400 to
 * differing Content-Lengths, to one beside Transfer-Encoding, and to HTTP/1.1 without Host; it joins repeated headers
 * with a comma.
 */
function checkFraming(headers: Headers): void {
  contentLengthOf(headers);
  const host = headers.get("host");
  if (host === null || /^[^\s,]+$/.test(host)) return;
  throw new Problem("INVALID_REQUEST", { detail: "the Host header must be sent once, and name a host" });
}
