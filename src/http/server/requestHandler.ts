import { type AnyElysia, Elysia, type ErrorContext, ParseError, ValidationError } from "elysia";
import { newRequestId } from "../../kernel/ids.ts";
import type { AddressRange } from "../../kernel/network/clientIp.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import type { BodyAdmissionControl } from "../body/bodyAdmission.ts";
import { contentLengthOf } from "../body/bodyBytes.ts";
import { validationProblem } from "../body/validation.ts";
import type { RateLimits } from "../limits/rateLimits.ts";
import { ReadsInFlight } from "../limits/readsInFlight.ts";
import type { RequestsInFlight } from "../limits/requestsInFlight.ts";
import { makeRequestTimeouts } from "../limits/requestTimeouts.ts";
import { ResponseBuffer } from "../limits/responseBuffer.ts";
import { Problem, unavailable } from "./problem.ts";
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
import { methodsOf, nearestPath } from "./routeMatching.ts";
import { routes } from "./routes.ts";

/** The server as far as answering a request needs it. */
interface Connections {
  requestIP(request: Request): { readonly address: string } | null;
}

export interface ServerOptions {
  readonly basePath: string;
  /** Every handler answers within this time, in ms; then 503. */
  readonly requestTimeoutMs: number;
  /** Shared with whatever else takes mail. */
  readonly bodies: BodyAdmissionControl;
  readonly rateLimits: RateLimits;
  /** Whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly AddressRange[];
  readonly controllers: readonly AnyElysia[];
  readonly requests: RequestsInFlight;
  /** Whether the log goes on elsewhere: then nothing is answered but who asks how the service is. */
  readonly isClosed: () => boolean | Promise<boolean>;
  readonly log: RequestLog;
}

function asProblem(error: unknown): Problem | null {
  if (error instanceof ParseError) return asProblem(error.cause);
  if (error instanceof ValidationError) return validationProblem(error);
  return problemOf(error);
}

/** Whether the error is that the client was gone before its body had come. */
function isEndOfConnection(error: unknown): boolean {
  if (error instanceof ParseError) return isEndOfConnection(error.cause);
  return error instanceof DOMException && error.name === "AbortError";
}

/** For a path that no route has, or not with this method. `path` is below `basePath`, "" when it is not. */
function unknownRoute(request: Request, path: string, basePath: string): Problem {
  const methods = methodsOf(path);
  if (methods.length === 0) {
    const meant = nearestPath(path);
    const hint = meant === null ? "" : `. Did you mean ${basePath}${meant}?`;
    return new Problem("NOT_FOUND", {
      detail: `There is no such path: ${basePath}${routes.docs.path} lists all${hint}`,
    });
  }
  return new Problem("METHOD_NOT_ALLOWED", {
    detail: `This address takes ${methods.join(", ").replace(/, (?=\w+$)/, " and ")}, not ${request.method}`,
    headers: { allow: methods.join(", ") },
  });
}

/** The controllers behind one Elysia, whose errors are answered as problems. */
function routerOf({
  basePath,
  controllers,
  log,
}: ServerOptions): (request: Request) => Response | Promise<Response> {
  // Host names shorter than four characters have no path where Elysia looks for one by default.
  const handler = { standardHostname: false };
  const app = new Elysia({ normalize: false, prefix: basePath, handler })
    .onRequest(({ request, set }) => {
      // The same object, so that what is added to it later is in the answer too.
      set.headers = requestContextOf(request).answerHeaders;
    })
    .onError(({ error, request, code }) => errorResponse({ error, request, code }, { basePath, log }));
  for (const controller of controllers) app.use(controller);
  return app.fetch;
}

/** The answer to a request that has failed; what is our own fault is logged. */
function errorResponse(
  { error, request, code }: Pick<ErrorContext, "request"> & { error: unknown; code: unknown },
  { basePath, log }: Pick<ServerOptions, "basePath" | "log">,
): Response {
  const context = requestContextOf(request);
  const whole = pathOf(request);
  const path = whole.startsWith(`${basePath}/`) ? whole.slice(basePath.length) : "";
  // A problem's own code shows as Elysia's too, so NOT_FOUND alone does not say that no route was found.
  const isUnknownRoute = code === "NOT_FOUND" && !(error instanceof Problem);
  const problem = isUnknownRoute ? unknownRoute(request, path, basePath) : asProblem(error);
  context.hasHungUp = problem === null && isEndOfConnection(error);
  if (!context.hasHungUp && (problem === null || problem.status >= 500))
    log.failed(context.requestId, reasonOf(error));
  return answerProblem(problem ?? new Problem("INTERNAL_ERROR"), context);
}

const LOG_FROZEN = "the log is frozen: the service continues elsewhere";
const TOO_LATE = "the request took too long";

/** Answers one request: routes it, keeps its time limit, logs it. Opens no port. */
export function requestHandler(
  options: ServerOptions,
): (request: Request, connections: Connections) => Promise<Response> {
  const { basePath, log } = options;
  const handle = routerOf(options);
  const timeouts = makeRequestTimeouts(options.requestTimeoutMs);
  const buffer = new ResponseBuffer();
  const shared: ServerContext = {
    rateLimits: options.rateLimits,
    bodies: options.bodies,
    reads: new ReadsInFlight(),
    trustedProxies: options.trustedProxies,
  };
  const answer = async (request: Request, context: RequestContext): Promise<Response> => {
    // Counted before we look whether the log is frozen: whoever freezes it and sees no request under way has seen all.
    options.requests.begin();
    try {
      checkFraming(request.headers);
      if (!hasReadablePath(request)) throw new Problem("NOT_FOUND");
      if ((await options.isClosed()) && needsLog(request, basePath))
        return answerUnavailable(LOG_FROZEN, context);
      return await handle(routable(request, context));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return answerProblem(error, context);
    } finally {
      // Not before the work is over, be it long after a 503: until then the bytes are in memory.
      context.body?.release();
      context.endRead?.();
      options.requests.end();
    }
  };
  return async (request, connections) => {
    const peer = () => connections.requestIP(request)?.address ?? null;
    const context = openRequestContext(request, { requestId: newRequestId(), server: shared, peer });
    const response = await timeouts.within(answer(request, context), () =>
      answerUnavailable(TOO_LATE, context),
    );
    const { status } = response;
    const line = () => requestLine(request, response, context, basePath);
    const hasHungUp = context.hasHungUp || (status >= 400 && status < 500 && request.signal.aborted);
    log.answered({ status, hasHungUp, line });
    for (const { problem, error } of context.refusedParts) {
      const { status, code } = problem;
      if (status >= 500) log.failed(context.requestId, reasonOf(error));
      log.answered({ status, hasHungUp: false, line: () => ({ ...line(), status, code }) });
    }
    if (request.method === "HEAD") return withoutBody(response, context);
    // The answer to a send is small, and not to be waited for.
    return status === 202 ? response : buffer.hold(response, context);
  };
}

/** The answer to HEAD: the headers of GET, with the length of the body that is left out where it has one (RFC 9110 §8.6). */
async function withoutBody(response: Response, { isStreamed }: RequestContext): Promise<Response> {
  const headers = new Headers(response.headers);
  // Bun leaves it out of answers to HEAD (RFC 9110 §6.6.1).
  if (!headers.has("date")) headers.set("date", new Date().toUTCString());
  if (isStreamed) {
    await response.body?.cancel();
    return new Response(null, { status: response.status, headers });
  }
  const { byteLength } = await response.arrayBuffer();
  if (response.status !== 204 && response.status !== 304) headers.set("content-length", String(byteLength));
  return new Response(null, { status: response.status, headers });
}

/** A refusal as whoever asks can read it. */
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

/** Whether a request is for an operation that is of no use where the log does not go on. */
function needsLog(request: Request, basePath: string): boolean {
  const path = pathOf(request).slice(basePath.length);
  return !WITHOUT_LOG.includes(path) && methodsOf(path).includes(request.method);
}

/** A 503 that says why, and that the same request may do better later. */
function answerUnavailable(detail: string, context: RequestContext): Response {
  const { answerHeaders: headers } = context;
  return answerProblem(unavailable(detail, { headers }), context);
}

/**
 * Refuses what a proxy before us may have understood in another way (RFC 9112 §3.2, §6.3). Bun itself answers 400 to
 * Content-Lengths that differ, to one beside Transfer-Encoding, and to HTTP/1.1 without Host; of what is sent twice it
 * joins the values with a comma.
 */
function checkFraming(headers: Headers): void {
  contentLengthOf(headers);
  const host = headers.get("host");
  if (host === null || /^[^\s,]+$/.test(host)) return;
  throw new Problem("INVALID_REQUEST", { detail: "the Host header must be sent once, and name a host" });
}
