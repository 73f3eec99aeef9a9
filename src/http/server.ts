import { Kind } from "@sinclair/typebox";
import { type AnyElysia, Elysia, type ErrorContext, ParseError, ValidationError } from "elysia";
import { newRequestId } from "../kernel/ids.ts";
import { StoreError } from "../ports/eventStore.ts";
import { ReadDatabaseError } from "../ports/readDatabase.ts";
import { makeDeadlines } from "./deadlines.ts";
import { factsOf, openFacts, type RequestFacts } from "./frontDoor.ts";
import { BODY_BYTES_MAX } from "./jsonBody.ts";
import { Problem, type ProblemDetail, problemResponse } from "./problem.ts";
import { methodsOf } from "./routes.ts";

/** What a server tells about a request once it is answered. No address, key or content is in it. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: string | null;
  readonly workspaceId: string | null;
  readonly durationMs: number;
}

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly basePath: string;
  /** Every handler answers within this time, in ms; then 503. */
  readonly requestTimeoutMs: number;
  readonly controllers: readonly AnyElysia[];
  /** The line is made only when it is asked for: most requests leave none. */
  readonly onRequest: (status: number, line: () => RequestLine) => void;
  readonly onError: (error: unknown, requestId: string) => void;
}

/** How long a connection may be silent, in seconds: ends slow headers and slow uploads. */
const IDLE_TIMEOUT_SECONDS = 30;
/** Bun's own guard: past it the connection gets a bare 413. Ours, with a body, is far below it. */
const BUN_BODY_BYTES_MAX = 4 * BODY_BYTES_MAX;
const ERRORS_MAX = 20;

/** One finding of TypeBox, as far as we look at it. */
interface Found {
  readonly path?: string;
  readonly message?: string;
  readonly schema?: { readonly [Kind]?: string; readonly minLength?: number; readonly maxLength?: number };
}

function textRule({ minLength = 0, maxLength }: NonNullable<Found["schema"]>): string {
  return `must be a string of ${minLength} to ${maxLength} characters`;
}

function validationProblem(error: ValidationError): Problem {
  const errors: ProblemDetail[] = [];
  for (const { path, message, schema } of error.all as readonly Found[]) {
    if (errors.length >= ERRORS_MAX) break;
    errors.push({
      pointer: path ?? "",
      message: schema?.[Kind] === "Text" ? textRule(schema) : (message ?? "is invalid"),
    });
  }
  const first = errors[0];
  const detail = first ? `${first.pointer || "the body"}: ${first.message}` : "the request is invalid";
  return new Problem("INVALID_REQUEST", { detail, errors });
}

function asProblem(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof ParseError) return asProblem(error.cause);
  if (error instanceof ValidationError) return validationProblem(error);
  if (error instanceof StoreError && error.failure !== "tooLarge") {
    return new Problem("INTERNAL_ERROR", {
      unavailable: true,
      detail: "the store cannot be reached; try again",
    });
  }
  if (error instanceof ReadDatabaseError && error.failure === "unavailable") {
    return new Problem("INTERNAL_ERROR", {
      unavailable: true,
      detail: "the read model is not ready yet; try again",
    });
  }
  return null;
}

function unknownRoute(request: Request, path: string): Problem {
  const methods = methodsOf(path);
  if (methods.length === 0) return new Problem("NOT_FOUND");
  return new Problem("METHOD_NOT_ALLOWED", {
    detail: `${request.method} is not one of ${methods.join(", ")}`,
    headers: { allow: methods.join(", ") },
  });
}

/** The HTTP side of the service, not yet listening: `fetch` answers one request. */
export function makeFetch(options: ServerOptions): (request: Request) => Promise<Response> {
  const { basePath, controllers, onError } = options;
  const answerError = ({
    error,
    request,
    code,
  }: Pick<ErrorContext, "request"> & { error: unknown; code: unknown }) => {
    const facts = factsOf(request);
    const path = new URL(request.url).pathname.slice(basePath.length);
    const problem = code === "NOT_FOUND" ? unknownRoute(request, path) : asProblem(error);
    if (problem === null || problem.status >= 500) onError(error, facts.requestId);
    const told = problem ?? new Problem("INTERNAL_ERROR");
    facts.code = told.code;
    return problemResponse(told, facts.requestId);
  };
  const app = new Elysia({ normalize: false, prefix: basePath })
    .onRequest(({ request, set }) => {
      set.headers["x-request-id"] = factsOf(request).requestId;
    })
    .onError(answerError);
  for (const controller of controllers) app.use(controller);
  const handle = app.fetch;
  const deadlines = makeDeadlines(options.requestTimeoutMs);
  return async (request) => {
    const facts = openFacts(request, newRequestId());
    const answer = Promise.resolve(handle(asGet(request, facts)));
    const response = await deadlines.within(answer, () => tooLate(facts));
    options.onRequest(response.status, () => requestLine(request, response, facts));
    return request.method === "HEAD" ? new Response(null, response) : response;
  };
}

/** HEAD is answered as GET would be, without the body. */
function asGet(request: Request, facts: RequestFacts): Request {
  if (request.method !== "HEAD") return request;
  const get = new Request(request.url, { headers: request.headers });
  openFacts(get, facts.requestId);
  return get;
}

function tooLate(facts: RequestFacts): Response {
  facts.code = "INTERNAL_ERROR";
  const problem = new Problem("INTERNAL_ERROR", { unavailable: true, detail: "the request took too long" });
  return problemResponse(problem, facts.requestId);
}

function requestLine(request: Request, response: Response, facts: RequestFacts): RequestLine {
  return {
    requestId: facts.requestId,
    method: request.method,
    path: new URL(request.url).pathname,
    status: response.status,
    code: facts.code,
    workspaceId: facts.principal?.workspaceId ?? null,
    durationMs: Math.round(performance.now() - facts.startedAt),
  };
}

/** Listens. `stop` lets what is in flight finish and refuses what is new. */
export function listen(options: ServerOptions): {
  readonly url: URL;
  stop(): Promise<void>;
  kill(): Promise<void>;
} {
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    maxRequestBodySize: BUN_BODY_BYTES_MAX,
    fetch: makeFetch(options),
  });
  return {
    url: server.url,
    stop: () => server.stop(false),
    kill: () => server.stop(true),
  };
}
