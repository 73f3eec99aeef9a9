import {
  AccessDeniedError,
  InvalidArgumentError,
  NotLeaderError,
  StreamDeletedError,
} from "@eventstore/db-client";
import { status } from "@grpc/grpc-js";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { AttemptTimedOutError } from "./deadline.ts";

/**
 * What a failed attempt means: `refused` would be refused again, `notDone` had no effect and may succeed later, and
 * `unknown` may or may not have taken effect.
 */
export type FailureKind = "tooLarge" | "refused" | "notDone" | "unknown";

/** Codes of calls that the server would refuse again. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
]);

/** What gRPC says when it has no connection, and what the server says when it does not accept the request. */
const NOT_SENT =
  /no connection established|name resolution failed|channel closed before call started|waiting for lb pick|failed to discover|server is not ready|server is too busy/i;

/** The stream broke after the server had answered on it, so appends still in flight may or may not be written. */
export class AppendStreamLostError extends Error {
  override readonly name = "AppendStreamLostError";
}

/** The attempt was given up before any of it was sent. */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
}

/** The server's failure of one append: it returned neither the new revision nor a conflicting one. */
export class AppendFailedError extends Error {
  override readonly name = "AppendFailedError";
  constructor(
    readonly kind: FailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** Classifies an error of the vendor's client. Anything not known to be harmless is `unknown`. */
export function failureKindOf(error: unknown): FailureKind {
  if (error instanceof AppendFailedError) return error.kind;
  if (error instanceof AppendStreamLostError) return "unknown";
  if (error instanceof NotSentError) return failureKindOf(error.cause) === "refused" ? "refused" : "notDone";
  if (error instanceof NotLeaderError) return "notDone";
  if (error instanceof AccessDeniedError || error instanceof StreamDeletedError) return "refused";
  if (error instanceof InvalidArgumentError) return "refused";
  if (REFUSALS.has((error as { code?: unknown } | null)?.code)) return "refused";
  // A dropped connection has the same code (14) as one that never existed; only the text distinguishes them.
  return NOT_SENT.test(String(error)) ? "notDone" : "unknown";
}

/** Whether a read that failed with `error` may succeed later. After our own bug or a refusal it cannot. */
export function isTransient(error: unknown): boolean {
  const isBug = error instanceof TypeError || error instanceof RangeError || error instanceof StoreError;
  return !isBug && failureKindOf(error) !== "refused";
}

/** The more informative of two failures: the later one, unless that is only a time-out. */
export function moreInformative(earlier: unknown, later: unknown): unknown {
  return later instanceof AttemptTimedOutError && earlier !== null ? earlier : later;
}

/** The port's error for a call that gives up without an effect. */
export function unavailable(what: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError("unavailable", `EventStoreDB: ${what}: ${messageOf(cause)}`, { cause });
}
