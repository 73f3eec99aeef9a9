import type { WebhookOutcome } from "../kernel/outcome/webhookOutcome.ts";

/** One HTTPS POST to a destination that somebody else chose. */
export interface WebhookCall {
  /** Normalised by `domain/webhook/webhookUrl`. */
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

/** Says of a destination where it leads, when it is named. */
export interface DestinationCheck {
  /**
   * Whether its name leads to an address that is not public, so that no call would ever be made. False where nobody
   * knows, within a few seconds: the name may not be there yet. Never throws.
   */
  isPrivate(url: string): Promise<boolean>;
}
