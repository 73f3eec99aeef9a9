import { type AnyElysia, Elysia, type ErrorContext, ParseError, ValidationError } from "elysia";
import { newRequestId } from "../../kernel/ids.ts";
import type { AddressRange } from "../../kernel/network/clientIp.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import type { BodyAdmissionControl } from "../body/bodyAdmission.ts";
import { contentLengthOf } from "../body/jsonBody.ts";
import { validationProblem } from "../body/validation.ts";
import { Problem, problemResponse } from "./problem.ts";
import { problemOf } from "./problemOfError.ts";
import type { RateLimits } from "./rateLimits.ts";
import { ReadsInFlight } from "./readsInFlight.ts";
import {
  openRequestContext,
  type RequestContext,
  requestContextOf,
  type ServerContext,
  shareRequestContext,
} from "./requestContext.ts";
import type { RequestLine, RequestLog } from "./requestLog.ts";
import type { RequestsInFlight } from "./requestsInFlight.ts";
import { makeRequestTimeouts } from "./requestTimeouts.ts";
import { ResponseBuffer } from "./responseBuffer.ts";
import { loggedPath, methodsOf, nearestPath } from "./routeMatching.ts";
import { routes } from "./routes.ts";

/** The server as far as answering a request needs it. */
interface Connections {
  requestIP(request: Request): { readonly address: string } | null;
}

interface PortOptions {
  readonly host: string;
  readonly port: number;
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

/** How long a connection may be silent, in seconds: ends slow headers and slow uploads. */
const IDLE_TIMEOUT_SECONDS = 30;
/**
 * Bun's own guard is off: it would answer a bare 413, and before the key is looked at. Our bound is kept
 * while a body is read, and what nobody reads Bun throws away as it comes.
 */
const BUN_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER;

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

/** The HTTP side of the service, not yet listening: `fetch` answers one request. */
export function makeFetch(
  options: ServerOptions,
): (request: Request, connections: Connections) => Promise<Response> {
  const { basePath, controllers, log } = options;
  const answerError = ({
    error,
    request,
    code,
  }: Pick<ErrorContext, "request"> & { error: unknown; code: unknown }) => {
    const context = requestContextOf(request);
    const whole = pathOf(request);
    const path = whole.startsWith(`${basePath}/`) ? whole.slice(basePath.length) : "";
    // A problem's own code shows as Elysia's too, so NOT_FOUND alone does not say that no route was found.
    const isUnknownRoute = code === "NOT_FOUND" && !(error instanceof Problem);
    const problem = isUnknownRoute ? unknownRoute(request, path, basePath) : asProblem(error);
    context.hasHungUp = problem === null && isEndOfConnection(error);
    if (!context.hasHungUp && (problem === null || problem.status >= 500))
      log.failed(context.requestId, reasonOf(error));
    const told = problem ?? new Problem("INTERNAL_ERROR");
    return answerProblem(told, context);
  };
  // Host names shorter than four characters have no path where Elysia looks for one by default.
  const handler = { standardHostname: false };
  const app = new Elysia({ normalize: false, prefix: basePath, handler })
    .onRequest(({ request, set }) => {
      // The same object, so that what is added to it later is in the answer too.
      set.headers = requestContextOf(request).answerHeaders;
    })
    .onError(answerError);
  for (const controller of controllers) app.use(controller);
  const handle = app.fetch;
  const timeouts = makeRequestTimeouts(options.requestTimeoutMs);
  const buffer = new ResponseBuffer();
  const shared: ServerContext = {
    rateLimits: options.rateLimits,
    bodies: options.bodies,
    reads: new ReadsInFlight(),
    trustedProxies: options.trustedProxies,
  };
  const answer = async (request: Request, context: RequestContext): Promise<Response> => {
    // Before it is asked whether the log was frozen: whoever finds none at work then, later finds none that was let in.
    options.requests.begin();
    try {
      checkFraming(request.headers);
      if (!hasReadablePath(request)) return unreadablePath(context);
      if ((await options.isClosed()) && needsLog(request, basePath)) return logFrozen(context);
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
    const response = await timeouts.within(answer(request, context), () => tooLate(context));
    const { status } = response;
    log.answered({
      status,
      hasHungUp: context.hasHungUp || (status >= 400 && status < 500 && request.signal.aborted),
      line: () => requestLine(request, response, context, basePath),
    });
    if (request.method === "HEAD") return withoutBody(response, context);
    // The answer to a send is small, and not to be waited for.
    return status === 202 ? response : buffer.hold(response, context);
  };
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

/**
 * The path and the query. The URL is not parsed, because a Host header that is no host would make that throw;
 * where there is none at all, as in HTTP/1.0, the URL is the path.
 */
function targetOf({ url }: Request): string {
  return url.startsWith("/") ? url : url.slice(url.indexOf("/", "http://".length));
}

function pathOf(request: Request): string {
  return targetOf(request).split(/[?#]/, 1)[0] ?? "";
}

/** Whether what is percent-encoded in the path is text (RFC 3986 §2.1): the router throws where it is not. */
function hasReadablePath(request: Request): boolean {
  if (!request.url.includes("%")) return true;
  try {
    decodeURIComponent(pathOf(request));
    return true;
  } catch {
    return false;
  }
}

/** The answer to HEAD: the headers of GET, with the length of the body that is left out where it has one (RFC 9110 §8.6). */
async function withoutBody(response: Response, { isStreamed }: RequestContext): Promise<Response> {
  const headers = new Headers(response.headers);
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

function unreadablePath(context: RequestContext): Response {
  return answerProblem(new Problem("NOT_FOUND"), context);
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

function logFrozen(context: RequestContext): Response {
  const { answerHeaders: headers } = context;
  const detail = "the log is frozen: the service goes on in another place";
  return answerProblem(new Problem("INTERNAL_ERROR", { unavailable: true, detail, headers }), context);
}

/** The request as Elysia can route it: with a whole URL, and HEAD as GET, which is answered alike but for the body. */
function routable(request: Request, context: RequestContext): Request {
  const isHead = request.method === "HEAD";
  if (!isHead && !request.url.startsWith("/")) return request;
  const url = `http://localhost${targetOf(request)}`;
  const whole = isHead ? new Request(url, { headers: request.headers }) : new Request(url, request);
  shareRequestContext(whole, context);
  return whole;
}

function tooLate(context: RequestContext): Response {
  const { answerHeaders: headers } = context;
  const detail = "the request took too long";
  return answerProblem(new Problem("INTERNAL_ERROR", { unavailable: true, detail, headers }), context);
}

function requestLine(
  request: Request,
  response: Response,
  context: RequestContext,
  basePath: string,
): RequestLine {
  const path = pathOf(request);
  return {
    requestId: context.requestId,
    method: request.method,
    path: context.route ?? loggedPath(path.startsWith(basePath) ? path.slice(basePath.length) : path),
    status: response.status,
    code: context.code,
    workspaceId: context.principal?.workspaceId ?? null,
    durationMs: Math.round(performance.now() - context.startedAt),
  };
}

type Fetch = ReturnType<typeof makeFetch>;

/** A port that is taken. */
export interface OpenPort {
  readonly url: URL;
  /** From now on requests are answered; those that have come before have waited for it. */
  answer(options: ServerOptions): void;
  /** Requests that have no whole answer yet. */
  pending(): number;
  /** Lets what is in flight finish and refuses what is new. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Takes the port: the service's address must be known before the service is made. */
export function openPort({ host, port, log }: Pick<ServerOptions, "log"> & PortOptions): OpenPort {
  const made = Promise.withResolvers<Fetch>();
  let fetch: Fetch = async (request, connections) => (await made.promise)(request, connections);
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    maxRequestBodySize: BUN_BODY_BYTES_MAX,
    // Else Bun answers what escapes us with a page that shows our source. Out of development it would also let a
    // second service take half of the requests on this port.
    development: false,
    reusePort: false,
    error(error) {
      const requestId = newRequestId();
      log.failed(requestId, reasonOf(error));
      return problemResponse(new Problem("INTERNAL_ERROR"), requestId);
    },
    fetch: (request, connections) => fetch(request, connections),
  });
  return {
    url: server.url,
    answer(options) {
      fetch = makeFetch(options);
      made.resolve(fetch);
    },
    pending: () => server.pendingRequests,
    stop: () => server.stop(false),
    kill: () => server.stop(true),
  };
}
