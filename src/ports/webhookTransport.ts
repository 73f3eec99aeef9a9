import type { WebhookOutcome } from "../kernel/webhookOutcome.ts";

/** One HTTPS POST to a destination that somebody else chose. */
export interface WebhookCall {
  /** Normalised by `domain/webhook/destination`. */
  readonly url: string;
  /** Lower-case names. Content-Length, Host and Connection are the transport's. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Calls webhook endpoints and nothing else: no address but public ones, no redirection, no waiting without end. */
export interface WebhookTransport {
  /** Calls once, within every bound. Never throws; `notSent` when `signal` aborts before anything was sent. */
  call(call: WebhookCall, signal: AbortSignal): Promise<WebhookOutcome>;
}
