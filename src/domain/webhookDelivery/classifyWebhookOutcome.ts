import type { WebhookOutcome } from "../../kernel/outcome/webhookOutcome.ts";
import { SECOND_MS } from "../../kernel/time.ts";

/** What an attempt means for its delivery. */
export type WebhookAttemptResult =
  | { readonly kind: "delivered" }
  /** To be retried; `retryAfterMs` is what the endpoint asked for. */
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs: number | null }
  /** The endpoint wants nothing more, ever (RFC 9110 §15.5.11). */
  | { readonly kind: "gone"; readonly reason: string }
  /** The fault was ours: no attempt is burnt. */
  | { readonly kind: "ours"; readonly reason: string };

/** The answers whose Retry-After is heeded. */
const RETRY_AFTER_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const GONE = 410;

/** Only 2xx is success. A redirection is a failure, because its target was not vetted. */
export function classifyWebhookOutcome(outcome: WebhookOutcome): WebhookAttemptResult {
  if (outcome.kind === "notSent") return { kind: "ours", reason: outcome.reason };
  if (outcome.kind === "failed") {
    const { reason } = outcome;
    return reason === "interrupted"
      ? { kind: "ours", reason }
      : { kind: "failed", reason, retryAfterMs: null };
  }
  const { statusCode, retryAfterSeconds } = outcome;
  if (statusCode >= 200 && statusCode < 300) return { kind: "delivered" };
  const reason = statusCode >= 300 && statusCode < 400 ? "redirected" : "status";
  if (statusCode === GONE) return { kind: "gone", reason };
  const isHeeded = RETRY_AFTER_STATUSES.has(statusCode) && retryAfterSeconds !== null;
  return { kind: "failed", reason, retryAfterMs: isHeeded ? retryAfterSeconds * SECOND_MS : null };
}
