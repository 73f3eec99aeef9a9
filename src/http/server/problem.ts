import { type Static, Type } from "@sinclair/typebox";
import { definedMembers } from "../../kernel/definedMembers.ts";
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

/** When to come back after a 503, in seconds. */
const RETRY_AFTER_SECONDS = 2;

/** Whether the same request may be sent again as it is. */
function isRetryable({ code, status }: Problem): boolean {
  return status === 429 || status >= 500 || problemFacts(code).retryAfterSeconds !== undefined;
}

/** Of whatever somebody's key opened, no copy is kept on the way, and nothing is taken for what it is not. */
export const PRIVATE_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** So many faults of one request are reported at most; the rest show once these are mended. */
export const ERRORS_MAX = 20;

/** The body of every refusal: RFC 9457 and our own members. */
export const ProblemBody = Type.Object(
  {
    type: Type.String({ pattern: "^urn:postledger:problem:[a-z-]+$" }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: "What is wrong with this request, for people." }),
    code: Type.String({ pattern: "^[A-Z_]+$", description: "What is wrong, for programs." }),
    request_id: Type.String({ description: "Names this request in the service's log." }),
    retryable: Type.Boolean({ description: "Whether the same request may be sent again as it is." }),
    errors: Type.Array(
      Type.Object(
        {
          pointer: Type.String({
            description:
              "A JSON Pointer (RFC 6901) into the body, or `/name` of a query parameter or a header.",
          }),
          message: Type.String(),
        },
        { additionalProperties: false },
      ),
      {
        maxItems: ERRORS_MAX,
        description: `Each wrong value, ${ERRORS_MAX} at most; empty when the code says it all.`,
      },
    ),
  },
  { $id: "Problem", additionalProperties: false, description: "A refusal (RFC 9457)." },
);

/** What the answer to a request that is refused says. Nothing internal, nothing that was sent. */
export function problemBody(problem: Problem, requestId: string): Static<typeof ProblemBody> {
  const { code, status, options } = problem;
  return {
    type: `urn:postledger:problem:${code.toLowerCase().replaceAll("_", "-")}`,
    title: problemFacts(code).title,
    status,
    detail: problem.message,
    code,
    request_id: requestId,
    retryable: isRetryable(problem),
    errors: (options.errors ?? []).slice(0, ERRORS_MAX).map(({ pointer, message }) => ({ pointer, message })),
  };
}

/** A problem as an answer: `application/problem+json` (RFC 9457). */
export function problemResponse(problem: Problem, requestId: string): Response {
  const { code, status } = problem;
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "x-request-id": requestId,
    ...PRIVATE_HEADERS,
    ...problem.headers,
  };
  const retryAfterSeconds = status === 503 ? RETRY_AFTER_SECONDS : problemFacts(code).retryAfterSeconds;
  if (retryAfterSeconds !== undefined) headers["retry-after"] ??= String(retryAfterSeconds);
  if (status === 401) headers["www-authenticate"] = "Bearer";
  return new Response(JSON.stringify(problemBody(problem, requestId)), { status, headers });
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
