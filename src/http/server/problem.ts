import { definedMembers } from "../../kernel/definedMembers.ts";
import { isUuid } from "../../kernel/ids.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import { type ProblemCode, problemFacts } from "./problemCodes.ts";

/** One wrong value: `pointer` is a JSON Pointer (RFC 6901) into the body, or `/name` of a query parameter or a header. */
export interface ProblemDetail {
  readonly pointer: string;
  readonly message: string;
}

export interface ProblemOptions {
  readonly detail?: string;
  readonly errors?: readonly ProblemDetail[];
  readonly headers?: Readonly<Record<string, string>>;
  /** When to come again; without it what the status or the code says of itself. */
  readonly retryAfterSeconds?: number;
  /** 503 instead of the code's own status: the same request may work a little later. */
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

  /** What the answer's headers say of this one refusal. */
  get headers(): Readonly<Record<string, string>> {
    const { headers, retryAfterSeconds: seconds } = this.options;
    return { ...headers, ...(seconds === undefined ? {} : { "retry-after": String(seconds) }) };
  }
}

/** What there is. Throws the problem that says so where there is nothing, or not for whoever asks. */
export function found<Value>(
  value: Value,
  code: ProblemCode = "NOT_FOUND",
): Exclude<Value, null | "notFound"> {
  if (value === null || value === "notFound") throw new Problem(code);
  return value as Exclude<Value, null | "notFound">;
}

/** The id of a path as streams know it. What is no uuid is nothing's id: throws the problem that says there is none. */
export function idOfPath(text = "", code: ProblemCode = "NOT_FOUND"): string {
  if (!isUuid(text)) throw new Problem(code);
  return text.toLowerCase();
}

/** The refusal of what may work a little later as it is: 503. */
export function unavailable(
  detail: string,
  options: Pick<ProblemOptions, "headers" | "retryAfterSeconds"> = {},
): Problem {
  return new Problem("INTERNAL_ERROR", { ...options, unavailable: true, detail });
}

/** The refusal of one more than may come in a time: 429. */
export function tooManyRequests(retryAfterSeconds: number, detail?: string): Problem {
  return new Problem("RATE_LIMITED", { retryAfterSeconds, ...definedMembers({ detail }) });
}

/** The longest pointer in an answer, in characters: names of members are as long as whoever sends them likes. */
const POINTER_CHARACTERS_MAX = 500;

function shownPointer(pointer: string): string {
  return pointer.length <= POINTER_CHARACTERS_MAX ? pointer : `${excerpt(pointer, POINTER_CHARACTERS_MAX)}…`;
}

/** A fault for people; the messages are ends of a sentence about the value. */
function sentenceOf({ pointer, message }: ProblemDetail): string {
  return pointer === "" ? `the body ${message}` : `${pointer}: ${message}`;
}

/** The refusal of one value of the body. */
export function invalid(pointer: string, message: string): Problem {
  const shown = shownPointer(pointer);
  return new Problem("INVALID_REQUEST", {
    detail: sentenceOf({ pointer: shown, message }),
    errors: [{ pointer: shown, message }],
  });
}

/** The refusal of the value of a header. */
export function invalidHeader(name: string, message: string): Problem {
  return invalid(`/${name}`, message);
}

/** A refusal for all that is wrong; when nothing is named, the code says it all. */
export function refusedFor(code: ProblemCode, faults: readonly ProblemDetail[]): Problem {
  const errors = faults.map(({ pointer, message }) => ({ pointer: shownPointer(pointer), message }));
  const [first] = errors;
  if (first === undefined) return new Problem(code);
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new Problem(code, { detail: `${sentenceOf(first)}${more}`, errors });
}
