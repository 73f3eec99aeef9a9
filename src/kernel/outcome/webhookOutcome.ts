/** The outcome of one webhook call: facts only. `domain/webhookDelivery` decides what they mean. */
export type WebhookOutcome =
  /** The endpoint answered. */
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      readonly durationMs: number;
      /** The beginning of the body, as text. */
      readonly body: string;
      /** Null if the answer had no valid Retry-After. */
      readonly retryAfterSeconds: number | null;
    }
  /** No answer. */
  | { readonly kind: "failed"; readonly reason: WebhookFailure; readonly durationMs: number }
  /** Nothing left this machine, for a reason on our side. */
  | { readonly kind: "notSent"; readonly reason: string; readonly durationMs: number };

/** Why there was no answer. It never reveals which addresses a name has. */
export type WebhookFailure =
  /** The name has no address, or its name servers did not answer. */
  | "dns"
  /** One of its addresses is not public. */
  | "destination_not_public"
  /** Connecting, or TLS over the connection, failed or took too long. */
  | "connect"
  /** The certificate is not valid. */
  | "tls"
  /** No answer in time. */
  | "timeout"
  /** The connection ended before the answer was complete, or the answer was not HTTP. */
  | "broken_answer"
  /** We closed the connection because the process is ending; the endpoint may have received the call. */
  | "interrupted";
