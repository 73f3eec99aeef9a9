/** What became of one webhook call: facts only. What they mean is decided in `domain/webhookDelivery`. */
export type WebhookOutcome =
  /** The endpoint answered. */
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      readonly durationMs: number;
      /** The beginning of the body, as text. */
      readonly body: string;
      /** Null when the answer had no Retry-After that could be read. */
      readonly retryAfterSeconds: number | null;
    }
  /** No answer. */
  | { readonly kind: "failed"; readonly reason: WebhookFailure; readonly durationMs: number }
  /** Nothing left this machine, for a reason of ours. */
  | { readonly kind: "notSent"; readonly reason: string; readonly durationMs: number };

/** Why there was no answer. Nothing in it says which addresses a name has. */
export type WebhookFailure =
  /** The name has no address, or its servers did not say. */
  | "dns"
  /** One of its addresses is not public. */
  | "destination_not_public"
  /** No connection came about in time, or no TLS over it. */
  | "connect"
  /** The certificate. */
  | "tls"
  /** No answer in time. */
  | "timeout"
  /** The connection ended before the answer did, or the answer was not HTTP. */
  | "broken_answer"
  /** We hung up, because the process ends: the endpoint may have received it. */
  | "interrupted";
