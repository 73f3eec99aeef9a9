import { isUuid } from "../../kernel/ids.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import { type ProblemCode, problemFacts } from "./problemCodes.ts";

/** At most this many faults of one request are reported; the rest show once these are fixed. */
export const ERRORS_MAX = 20;

/** One wrong value. `pointer` is a JSON Pointer (RFC 6901) into the body, or `/name` of a query parameter or header. */
export interface ProblemDetail {
  readonly pointer: string;
  readonly message: string;
  /** What `detail` says instead of a long message; callers find the whole one in `errors`. */
  readonly summary?: string | undefined;
}

export interface ProblemOptions {
  readonly detail?: string;
  readonly errors?: readonly ProblemDetail[];
  readonly headers?: Readonly<Record<string, string>>;
  /** When to retry; by default what the status or the code says. */
  readonly retryAfterSeconds?: number;
  /** Whether the same request can never work, though the code says that it may. */
  readonly isPermanent?: boolean;
  /** The message that the refusal is about. */
  readonly emailId?: string;
  /** 503 instead of the code's own status: the same request may work later. */
  readonly unavailable?: boolean;
}

/** A refusal on its way to the caller. Thrown inside `http` only. */
export class Problem extends Error {
  override readonly name = "Problem";
  constructor(
    readonly code: ProblemCode,
    readonly options: ProblemOptions = {},
  ) {
    super(options.detail ?? problemFacts(code).advice ?? problemFacts(code).title);
  }

  get status(): number {
    return this.options.unavailable ? 503 : problemFacts(this.code).status;
  }

  /** The headers for this one refusal. */
  get headers(): Readonly<Record<string, string>> {
    const { headers, retryAfterSeconds: seconds } = this.options;
    return { ...headers, ...(seconds === undefined ? {} : { "retry-after": String(seconds) }) };
  }
}

/** The value if it exists. Throws the problem if there is none, or none that this caller may see. */
export function found<Value>(
  value: Value,
  code: ProblemCode = "NOT_FOUND",
): Exclude<Value, null | "notFound"> {
  if (value === null || value === "notFound") throw new Problem(code);
  return value as Exclude<Value, null | "notFound">;
}

/** The id of a path, as streams use it. Throws the problem for a missing resource if it is not a UUID. */
export function idOfPath(text = "", code: ProblemCode = "NOT_FOUND"): string {
  if (!isUuid(text)) throw new Problem(code);
  return text.toLowerCase();
}

/** The refusal of a request that may work later unchanged: 503. */
export function unavailable(
  detail: string,
  options: Pick<ProblemOptions, "headers" | "retryAfterSeconds"> = {},
): Problem {
  return new Problem("INTERNAL_ERROR", { ...options, unavailable: true, detail });
}

/** Why nothing is answered that needs the log. */
export const LOG_FROZEN = "the log is frozen: the service continues elsewhere";
/** Why a body is refused that takes too long while the service stops. */
export const SERVICE_STOPPING = "the service is stopping: try again";

/** The refusal of a request beyond a rate: 429. */
export function tooManyRequests(retryAfterSeconds: number, detail?: string): Problem {
  return new Problem("RATE_LIMITED", { retryAfterSeconds, ...omitUndefined({ detail }) });
}

/** The longest pointer in an answer, in characters, because callers may send names of any length. */
const POINTER_CHARACTERS_MAX = 500;

function shownPointer(pointer: string): string {
  return pointer.length <= POINTER_CHARACTERS_MAX ? pointer : `${excerpt(pointer, POINTER_CHARACTERS_MAX)}…`;
}

/** A fault as a sentence for people; messages are the end of a sentence about the value. */
function sentenceOf({ pointer, message, summary = message }: ProblemDetail): string {
  return pointer === "" ? `the body ${summary}` : `${pointer}: ${summary}`;
}

/** The refusal of one value, of the body, the query or a header. */
export function invalid(pointer: string, message: string): Problem {
  return refusedFor("INVALID_REQUEST", [{ pointer, message }]);
}

/** A refusal that lists the faults, up to {@link ERRORS_MAX}; without any, the code says it all. */
export function refusedFor(code: ProblemCode, faults: readonly ProblemDetail[]): Problem {
  const reported = faults.slice(0, ERRORS_MAX);
  const [first] = reported;
  if (first === undefined) return new Problem(code);
  const errors = reported.map(({ pointer, message }) => ({ pointer: shownPointer(pointer), message }));
  const sentence = sentenceOf({ ...first, pointer: shownPointer(first.pointer) });
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new Problem(code, { detail: `${sentence}${more}`, errors });
}
