import type { RequestContext } from "./requestContext.ts";
import { pathOf } from "./requestTarget.ts";
import { loggedPath } from "./routeMatching.ts";
import { routes } from "./routes.ts";

/** Where lines are written. */
interface Lines {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a server logs about a request once it is answered. No address, key or content is in it. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** The route: its variable parts may hold a secret or an address. */
  readonly path: string;
  readonly status: number;
  readonly code: string | null;
  readonly workspaceId: string | null;
  readonly durationMs: number;
}

/** The line of a request of HTTP. */
export function requestLine(
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

/** What became of a request. `hasHungUp`: the client did not wait for the answer. */
export interface RequestEnd {
  readonly status: number;
  readonly hasHungUp: boolean;
  /** Made only when it is asked for: most requests leave no line. */
  readonly line: () => RequestLine;
}

export interface RequestLog {
  answered(end: RequestEnd): void;
  /** Why an answer was 500 or 503. */
  failed(requestId: string, reason: string): void;
}

export interface RequestLogOptions {
  /** Every request is logged, whatever came of it, and there is no bound. */
  readonly isWhole: boolean;
  readonly lines: Lines;
  /** Calls back after so many ms; need not keep the process alive. */
  readonly after: (delayMs: number, act: () => void) => void;
}

/** Of each kind of failure so many lines are written in this time; the rest is counted in one. */
const LINES_MAX = 100;
const WINDOW_MS = 10_000;

/** As nginx counts them. */
const CLIENT_CLOSED = 499;

/** Writes requests that failed, as far as they do not flood the log: whoever fails on purpose must not fill the disk. */
export function requestLog({ isWhole, lines, after }: RequestLogOptions): RequestLog {
  const bounded = (message: string) => {
    const tell = (omitted: number) => lines.warn({ omitted, windowSeconds: WINDOW_MS / 1_000 }, message);
    return isWhole ? () => true : lineBudget(after, tell);
  };
  const refusals = bounded("further refused requests were not logged one by one");
  const failures = bounded("further failed requests were not logged one by one");
  const reasons = bounded("further reasons of failed requests were not logged one by one");
  const writers = {
    failure(line: RequestEnd["line"]) {
      if (!failures()) return;
      const fields = line();
      // Who asks whether the service is ready was answered; what keeps it from that has lines of its own.
      if (fields.path === routes.ready.path) lines.info(fields, "not ready");
      else lines.error(fields, "failed");
    },
    refusal: (line: RequestEnd["line"]) => refusals() && lines.info(line(), "refused"),
    answer: (line: RequestEnd["line"]) => isWhole && lines.info(line(), "answered"),
    // Nobody got the answer, so what it would have been says nothing.
    hangUp: (line: RequestEnd["line"]) =>
      isWhole && lines.info({ ...line(), status: CLIENT_CLOSED, code: null }, "the client hung up"),
  };
  return {
    answered({ status, hasHungUp, line }) {
      if (hasHungUp) writers.hangUp(line);
      else if (status >= 500) writers.failure(line);
      else if (status >= 400) writers.refusal(line);
      else writers.answer(line);
    },
    failed(requestId, reason) {
      if (reasons()) lines.error({ requestId, reason }, "request failed");
    },
  };
}

/** Says whether one more line may be written; at the end of its time it says how many were not. */
function lineBudget(after: RequestLogOptions["after"], logOmitted: (omitted: number) => void): () => boolean {
  let taken = 0;
  return () => {
    if (taken === 0) {
      after(WINDOW_MS, () => {
        const omitted = taken - LINES_MAX;
        taken = 0;
        if (omitted > 0) logOmitted(omitted);
      });
    }
    taken += 1;
    return taken <= LINES_MAX;
  };
}
