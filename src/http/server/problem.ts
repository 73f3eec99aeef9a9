import { excerpt } from "../../kernel/text/text.ts";

/** Every code that an answer can carry: the contract's (spec.md, Errors) and, below them, ours where it is silent. */
const TABLE = {
  INVALID_REQUEST: { status: 400, title: "A required value is missing or invalid" },
  IDEMPOTENCY_KEY_REQUIRED: { status: 400, title: "The Idempotency-Key header is missing or invalid" },
  UNAUTHORIZED: { status: 401, title: "The API key is missing, invalid, revoked or expired" },
  FORBIDDEN: { status: 403, title: "The API key may not do this" },
  SENDING_PAUSED: { status: 403, title: "Sending is paused for the workspace" },
  WEBHOOK_NOT_FOUND: { status: 404, title: "There is no such webhook endpoint in this workspace" },
  IDEMPOTENCY_CONFLICT: { status: 409, title: "The Idempotency-Key was used with other content" },
  WEBHOOK_ALREADY_EXISTS: { status: 409, title: "The destination is registered already" },
  ATTACHMENT_NOT_READY: {
    status: 409,
    title: "A referenced attachment has not finished validation",
    isRetryable: true,
  },
  ATTACHMENT_EXPIRED: { status: 410, title: "A referenced attachment is no longer retained" },
  ATTACHMENT_LIMIT_EXCEEDED: { status: 413, title: "There are too many attachments, or they are too large" },
  PAYLOAD_TOO_LARGE: { status: 413, title: "The encoded request is larger than this operation takes" },
  STORAGE_LIMIT_EXCEEDED: { status: 413, title: "The workspace's allowance for what it stores is used up" },
  ATTACHMENT_INVALID: { status: 422, title: "An attachment failed validation" },
  ATTACHMENT_TYPE_UNSUPPORTED: { status: 422, title: "The file format is not supported" },
  INVALID_WEBHOOK_URL: { status: 422, title: "The destination is not a public HTTPS endpoint on port 443" },
  SENDER_UNAVAILABLE: { status: 422, title: "The sending address cannot send" },
  TEMPLATE_UNAVAILABLE: { status: 422, title: "The template is not published or not available" },
  INVALID_TEMPLATE_DATA: { status: 422, title: "Required template variables are missing or invalid" },
  DAILY_LIMIT_REACHED: { status: 429, title: "The workspace has reached its daily limit" },
  RATE_LIMITED: { status: 429, title: "Too many requests in a short period" },
  INTERNAL_ERROR: { status: 500, title: "The operation could not be completed" },
  // Ours: what the contract leaves open.
  NOT_FOUND: { status: 404, title: "There is nothing under this address in this workspace" },
  METHOD_NOT_ALLOWED: { status: 405, title: "This address does not take this method" },
  EMAIL_NOT_CANCELABLE: { status: 409, title: "The message is being delivered or has ended" },
  WEBHOOK_DISABLED: { status: 409, title: "The webhook endpoint is disabled" },
  RECIPIENT_SUPPRESSED: { status: 409, title: "The address is on the workspace's suppression list" },
  SENDER_VERIFICATION_UNAVAILABLE: { status: 409, title: "This service cannot mail verification links" },
  SENDER_VERIFICATION_FAILED: {
    status: 422,
    title: "The domain does not publish the record that was expected",
  },
  TEMPLATE_ARCHIVED: { status: 409, title: "The template is archived" },
  TEMPLATE_LIMIT_REACHED: {
    status: 409,
    title: "There are as many templates, or versions of one, as there can be",
  },
  WEBHOOK_LIMIT_REACHED: { status: 409, title: "The workspace has as many webhook endpoints as it can" },
  API_KEY_NOT_ACTIVE: { status: 409, title: "The API key is revoked or has expired" },
  API_KEY_LIMIT_REACHED: { status: 409, title: "The workspace has as many active API keys as it can" },
} as const satisfies Readonly<Record<string, ProblemFacts>>;

/** What goes with a code. */
interface ProblemFacts {
  readonly status: number;
  readonly title: string;
  /** Whether the same request may work a little later, where the status does not say so. */
  readonly isRetryable?: true;
}

export type ProblemCode = keyof typeof TABLE;

/** What goes with a code. Where the operation may work a little later, 503 stands in for 500. */
export function problemFacts(code: ProblemCode): ProblemFacts {
  return TABLE[code];
}

/** One wrong value: `pointer` is a JSON Pointer (RFC 6901) into the body, or `/name` of a query parameter or a header. */
export interface ProblemDetail {
  readonly pointer: string;
  readonly message: string;
}

export interface ProblemOptions {
  readonly detail?: string;
  readonly errors?: readonly ProblemDetail[];
  readonly headers?: Readonly<Record<string, string>>;
  /** 503 in place of the code's own status: the same request may work a little later. */
  readonly unavailable?: boolean;
}

/** A refusal on its way to the caller. Thrown inside `http` only. */
export class Problem extends Error {
  override readonly name = "Problem";
  constructor(
    readonly code: ProblemCode,
    readonly options: ProblemOptions = {},
  ) {
    super(options.detail ?? TABLE[code].title);
  }

  get status(): number {
    return this.options.unavailable ? 503 : TABLE[this.code].status;
  }
}

/** When to come back, in seconds: of a 503, and of another refusal that passes soon. */
const RETRY_AFTER_SECONDS = 2;

/** Whether the same request may be sent again as it is. */
function isRetryable({ code, status }: Problem): boolean {
  return status === 429 || status >= 500 || problemFacts(code).isRetryable === true;
}

/** Of whatever somebody's key opened, no copy is kept on the way, and nothing is taken for what it is not. */
export const PRIVATE_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** What the answer to a request that is refused says. Nothing internal, nothing that was sent. */
export function problemBody(problem: Problem, requestId: string) {
  const { code, status, options } = problem;
  return {
    type: `urn:postledger:problem:${code.toLowerCase().replaceAll("_", "-")}`,
    title: TABLE[code].title,
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
  const { code, status, options } = problem;
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "x-request-id": requestId,
    ...PRIVATE_HEADERS,
    ...options.headers,
  };
  if (status === 503 || problemFacts(code).isRetryable)
    headers["retry-after"] ??= String(RETRY_AFTER_SECONDS);
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

/** So many faults of one request are told at most; the rest show once these are mended. */
export const ERRORS_MAX = 20;

/** A refusal for all that is wrong; when nothing is named, the code says it all. */
export function refusedFor(code: ProblemCode, faults: readonly ProblemDetail[]): Problem {
  const errors = faults.map(({ pointer, message }) => ({ pointer: shownPointer(pointer), message }));
  const [first] = errors;
  if (first === undefined) return new Problem(code);
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new Problem(code, { detail: `${sentenceOf(first)}${more}`, errors });
}
