/** Every code that an answer can carry. Codes are part of the public API: they never change. */
const TABLE = {
  INVALID_REQUEST: { status: 400, title: "A required value is missing or invalid" },
  IDEMPOTENCY_KEY_REQUIRED: { status: 400, title: "The Idempotency-Key header is missing or invalid" },
  UNAUTHORIZED: { status: 401, title: "The API key is missing, invalid, revoked or expired" },
  FORBIDDEN: { status: 403, title: "The API key may not do this" },
  SENDING_PAUSED: {
    status: 403,
    title: "Sending is paused for the workspace",
    advice: "Keep the message and send it again later: it is accepted as soon as sending is resumed",
    retryAfterSeconds: 60,
  },
  WEBHOOK_NOT_FOUND: { status: 404, title: "There is no such webhook endpoint in this workspace" },
  IDEMPOTENCY_CONFLICT: { status: 409, title: "The Idempotency-Key was used with other content" },
  WEBHOOK_ALREADY_EXISTS: {
    status: 409,
    title: "The destination is registered already",
    advice: "GET /webhooks names the endpoint that has this URL; PATCH changes it",
  },
  ATTACHMENT_NOT_READY: {
    status: 409,
    title: "A referenced attachment has not finished validation",
    retryAfterSeconds: 2,
  },
  ATTACHMENT_EXPIRED: { status: 410, title: "A referenced attachment is no longer retained" },
  ATTACHMENT_LIMIT_EXCEEDED: { status: 413, title: "There are too many attachments, or they are too large" },
  PAYLOAD_TOO_LARGE: { status: 413, title: "The encoded request is larger than this operation takes" },
  STORAGE_LIMIT_EXCEEDED: {
    status: 413,
    title: "The workspace's quota for what it stores is used up",
    retryAfterSeconds: 60,
  },
  ATTACHMENT_INVALID: { status: 422, title: "An attachment failed validation" },
  ATTACHMENT_TYPE_UNSUPPORTED: { status: 422, title: "The file format is not supported" },
  INVALID_WEBHOOK_URL: { status: 422, title: "The destination is not a public HTTPS endpoint on port 443" },
  SENDER_UNAVAILABLE: { status: 422, title: "The sending address cannot send" },
  TEMPLATE_UNAVAILABLE: { status: 422, title: "The template is not published or not available" },
  INVALID_TEMPLATE_DATA: { status: 422, title: "Required template variables are missing or invalid" },
  DAILY_LIMIT_REACHED: {
    status: 429,
    title: "The workspace has reached its daily limit",
    advice:
      "Send it again after 00:00 UTC, when the next day begins. GET /api/v1/workspace shows limit and usage",
  },
  RATE_LIMITED: { status: 429, title: "Too many requests in a short period" },
  INTERNAL_ERROR: { status: 500, title: "The operation could not be completed" },
  NOT_FOUND: { status: 404, title: "There is no such resource in this workspace" },
  METHOD_NOT_ALLOWED: { status: 405, title: "This path does not take this method" },
  EMAIL_NOT_CANCELABLE: {
    status: 409,
    title: "The message is being delivered, may have been sent, or has ended",
  },
  EMAIL_NOT_SCHEDULED: { status: 409, title: "The message can no longer be moved" },
  WEBHOOK_DISABLED: {
    status: 409,
    title: "The webhook endpoint is disabled",
    advice: "POST /webhooks/{id}/enable first",
  },
  RECIPIENT_SUPPRESSED: { status: 409, title: "The address is on the workspace's suppression list" },
  SENDER_VERIFICATION_UNAVAILABLE: { status: 409, title: "This service cannot mail verification links" },
  SENDER_VERIFICATION_FAILED: {
    status: 422,
    title: "The domain does not publish the record that was expected",
    retryAfterSeconds: 60,
  },
  SENDER_LIMIT_REACHED: { status: 409, title: "The workspace has as many senders as it can" },
  TEMPLATE_ALREADY_EXISTS: { status: 409, title: "The alias is taken" },
  TEMPLATE_ARCHIVED: { status: 409, title: "The template is archived" },
  TEMPLATE_LIMIT_REACHED: {
    status: 409,
    title: "There are as many templates, or versions of one, as there can be",
  },
  WEBHOOK_LIMIT_REACHED: { status: 409, title: "The workspace has as many webhook endpoints as it can" },
  API_KEY_NOT_ACTIVE: { status: 409, title: "The API key is revoked or has expired" },
  API_KEY_LIMIT_REACHED: { status: 409, title: "The workspace has as many active API keys as it can" },
} as const satisfies Readonly<Record<string, ProblemFacts>>;

interface ProblemFacts {
  readonly status: number;
  readonly title: string;
  /** What to do, if no detail says more. */
  readonly advice?: string;
  /** When the same request may work, if the status does not say. */
  readonly retryAfterSeconds?: number;
}

export type ProblemCode = keyof typeof TABLE;

/** Facts about a code. 503 replaces the 500 if the operation may work later. */
export function problemFacts(code: ProblemCode): ProblemFacts {
  return TABLE[code];
}
