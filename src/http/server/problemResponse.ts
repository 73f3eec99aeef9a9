import { type Static, Type } from "@sinclair/typebox";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { Closed, FreeText, Id } from "../body/commonSchemas.ts";
import { ERRORS_MAX, type Problem } from "./problem.ts";
import { problemFacts } from "./problemCodes.ts";

/** When to retry after a 503, in seconds. */
const RETRY_AFTER_SECONDS = 2;

/** Whether the same request may be sent again unchanged. */
function isRetryable(problem: Problem): boolean {
  return problem.status === 429 || problem.status >= 500 || retryAfterSecondsOf(problem) !== undefined;
}

/** When to retry, in seconds; undefined if nobody knows. */
function retryAfterSecondsOf({ code, status, options }: Problem): number | undefined {
  if (options.isPermanent) return undefined;
  if (options.retryAfterSeconds !== undefined) return options.retryAfterSeconds;
  return status === 503 ? RETRY_AFTER_SECONDS : problemFacts(code).retryAfterSeconds;
}

/** An answer to a key is neither cached on the way nor interpreted as another media type. */
export const PRIVATE_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** The body of every refusal: RFC 9457 plus our own members. */
export const ProblemBody = Closed(
  {
    type: Type.String({ pattern: "^urn:postledger:problem:[a-z-]+$" }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: FreeText("What is wrong with this request, for people."),
    code: Type.String({ pattern: "^[A-Z_]+$", description: "What is wrong, for programs." }),
    request_id: FreeText("Names this request in the service's log."),
    retryable: Type.Boolean({ description: "Whether the same request may be sent again as it is." }),
    retry_after: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          "In how many seconds to send it again, as in the header Retry-After; in a batch, each send by itself.",
      }),
    ),
    email_id: Type.Optional(
      Id("Of `IDEMPOTENCY_CONFLICT`: the message that was accepted with the key. Absent in other refusals."),
    ),
    errors: Type.Array(
      Closed({
        pointer: FreeText(
          "A JSON Pointer (RFC 6901) into the body, or `/name` of a query parameter or a header.",
        ),
        message: Type.String(),
      }),
      {
        maxItems: ERRORS_MAX,
        description: `Each wrong value, ${ERRORS_MAX} at most; empty when the code says it all.`,
      },
    ),
  },
  { description: "A refusal (RFC 9457)." },
);

/** What all refusals share in the document, which names the status and the codes of each. */
export const ProblemDetails = Type.Omit(ProblemBody, ["status", "code"], {
  $id: "ProblemDetails",
  description: "What every refusal says besides its status and code (RFC 9457).",
});

/** The body that answers a refused request. It holds nothing internal, and nothing that was sent. */
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
    ...omitUndefined({ retry_after: retryAfterSecondsOf(problem), email_id: options.emailId }),
    errors: (options.errors ?? []).map(({ pointer, message }) => ({ pointer, message })),
  };
}

/** A problem as an answer: `application/problem+json` (RFC 9457). */
export function problemResponse(problem: Problem, requestId: string): Response {
  const { status } = problem;
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "x-request-id": requestId,
    ...PRIVATE_HEADERS,
    ...problem.headers,
  };
  const retryAfterSeconds = retryAfterSecondsOf(problem);
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds);
  if (status === 401) headers["www-authenticate"] = "Bearer";
  return new Response(JSON.stringify(problemBody(problem, requestId)), { status, headers });
}
