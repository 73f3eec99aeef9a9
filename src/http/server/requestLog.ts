import type { EndedKey, Principal } from "../../commands/apiKey/authenticate.ts";
import { type After, logRateLimit } from "../../kernel/logRateLimit.ts";
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

/** What the server logs about an answered request. It contains no address, key or content. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** The route without its variable parts, which may hold a secret or an address. */
  readonly path: string;
  readonly status: number;
  readonly code: string | null;
  readonly workspaceId: string | null;
  /** The key of a caller whose key is no longer accepted, and why it is not. */
  readonly keyId?: string;
  readonly keyStatus?: EndedKey["status"];
  readonly durationMs: number;
}

/** What a line says of a caller by its key, accepted or not. */
export function callerFields(
  principal: Pick<Principal, "workspaceId"> | null,
  endedKey: EndedKey | null,
): Pick<RequestLine, "workspaceId" | "keyId" | "keyStatus"> {
  if (endedKey === null) return { workspaceId: principal?.workspaceId ?? null };
  const { workspaceId, keyId, status } = endedKey;
  return { workspaceId, keyId, keyStatus: status };
}

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
    ...callerFields(context.principal, context.endedKey),
    durationMs: Math.round(performance.now() - context.startedAt),
  };
}

/** How a request ended. `hasHungUp`: the client did not wait for the answer. */
export interface RequestEnd {
  readonly status: number;
  readonly hasHungUp: boolean;
  /** Whether the caller's key was revoked or has expired: its owner may not know yet that it fails. */
  readonly hasEndedKey: boolean;
  /** Built only on demand: most requests leave no line. */
  readonly line: () => RequestLine;
}

export interface RequestLog {
  answered(end: RequestEnd): void;
  /** Why an answer was 500 or 503. */
  failed(requestId: string, reason: string): void;
}

interface RequestLogOptions {
  /** Logs every request, without a limit. */
  readonly isWhole: boolean;
  readonly lines: Lines;
  readonly after?: After;
}

/** Lines per kind of failure in one window; the rest is summed up in one line. */
const LINES_MAX = 100;
const WINDOW_MS = 10_000;

/** nginx's status for it. */
const CLIENT_CLOSED = 499;

/** Logs failed requests, up to a limit: deliberate failures must not fill the disk. */
export function requestLog({ isWhole, lines, after }: RequestLogOptions): RequestLog {
  const bounded = (message: string) => {
    const logOmitted = (omitted: number) =>
      lines.warn({ omitted, windowSeconds: WINDOW_MS / 1_000 }, message);
    return isWhole
      ? () => true
      : logRateLimit({ linesMax: LINES_MAX, windowMs: WINDOW_MS, after, logOmitted });
  };
  const refusals = bounded("further refused requests were not logged one by one");
  const endedKeys = bounded("further requests with ended API keys were not logged one by one");
  const failures = bounded("further failed requests were not logged one by one");
  const reasons = bounded("further reasons of failed requests were not logged one by one");
  const writers = {
    failure(line: RequestEnd["line"]) {
      if (!failures()) return;
      const fields = line();
      // A readiness check was answered; what makes it unready has its own lines.
      if (fields.path === routes.ready.path) lines.info(fields, "not ready");
      else lines.error(fields, "failed");
    },
    refusal: (line: RequestEnd["line"]) => refusals() && lines.info(line(), "refused"),
    endedKey: (line: RequestEnd["line"]) =>
      endedKeys() && lines.warn(line(), "refused an API key that was revoked or has expired"),
    answer: (line: RequestEnd["line"]) => isWhole && lines.info(line(), "answered"),
    // Nobody received the answer, so its content says nothing.
    hangUp: (line: RequestEnd["line"]) =>
      isWhole && lines.info({ ...line(), status: CLIENT_CLOSED, code: null }, "the client hung up"),
  };
  return {
    answered({ status, hasHungUp, hasEndedKey, line }) {
      if (hasHungUp) writers.hangUp(line);
      else if (status >= 500) writers.failure(line);
      else if (hasEndedKey) writers.endedKey(line);
      else if (status >= 400) writers.refusal(line);
      else writers.answer(line);
    },
    failed(requestId, reason) {
      if (reasons()) lines.error({ requestId, reason }, "request failed");
    },
  };
}
