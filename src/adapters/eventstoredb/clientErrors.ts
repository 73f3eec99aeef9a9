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
 * What a failed attempt means: `refused` will be refused again, `notDone` did nothing and may succeed later,
 * and after `unknown` the attempt may have been carried out or not.
 */
export type FailureKind = "tooLarge" | "refused" | "notDone" | "unknown";

/** Codes of a call that the server will refuse again. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
]);

/** What gRPC says when it had no connection to send on, and the server when it did not take the request. */
const NOT_SENT =
  /no connection established|name resolution failed|channel closed before call started|waiting for lb pick|failed to discover|server is not ready|server is too busy/i;

/** The stream had been answered on before it broke: what it still carried may be written or not. */
export class AppendStreamLostError extends Error {
  override readonly name = "AppendStreamLostError";
}

/** The attempt was given up before anything of it was sent. */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
}

/** The server's word on one append, where that is neither its revision nor a conflicting one. */
export class AppendFailedError extends Error {
  override readonly name = "AppendFailedError";
  constructor(
    readonly kind: FailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** Sorts what a call of the vendor's client threw. Whatever is not known to be harmless is `unknown`. */
export function failureKindOf(error: unknown): FailureKind {
  if (error instanceof AppendFailedError) return error.kind;
  if (error instanceof AppendStreamLostError) return "unknown";
  if (error instanceof NotSentError) return failureKindOf(error.cause) === "refused" ? "refused" : "notDone";
  if (error instanceof NotLeaderError) return "notDone";
  if (error instanceof AccessDeniedError || error instanceof StreamDeletedError) return "refused";
  if (error instanceof InvalidArgumentError) return "refused";
  if (REFUSALS.has((error as { code?: unknown } | null)?.code)) return "refused";
  // A dropped connection carries the same code (14) as one that never was: only the text distinguishes them.
  return NOT_SENT.test(String(error)) ? "notDone" : "unknown";
}

/** Whether a read that failed with `error` may succeed later. A bug of ours never does, nor does a refusal. */
export function isTransient(error: unknown): boolean {
  const isBug = error instanceof TypeError || error instanceof RangeError || error instanceof StoreError;
  return !isBug && failureKindOf(error) !== "refused";
}

/** Which of two failures says more of what is wrong: the later one, unless that is mere silence. */
export function moreInformative(earlier: unknown, later: unknown): unknown {
  return later instanceof AttemptTimedOutError && earlier !== null ? earlier : later;
}

/** The port's error for a call that did nothing and gives up. */
export function unavailable(what: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError("unavailable", `EventStoreDB: ${what}: ${messageOf(cause)}`, { cause });
}
