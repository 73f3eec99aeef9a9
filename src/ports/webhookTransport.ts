import type { WebhookOutcome } from "../kernel/outcome/webhookOutcome.ts";

/** One HTTPS POST to a destination chosen by somebody else. */
export interface WebhookCall {
  /** Normalised by `domain/webhook/webhookUrl`. */
  readonly url: string;
  /** Lower-case names. The transport sets Content-Length, Host and Connection. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Calls webhook endpoints: connects to public addresses only, follows no redirect, and never waits forever. */
export interface WebhookTransport {
  /** Calls once, within all limits. Never throws; `notSent` when `signal` aborts before anything was sent. */
  call(call: WebhookCall, signal: AbortSignal): Promise<WebhookOutcome>;
}

export interface DestinationCheck {
  /**
   * Whether its name resolves to an address that is not public, so no call would ever be made. False if that is unknown
   * after a few seconds, because the name may not exist yet. Never throws.
   */
  isPrivate(url: string): Promise<boolean>;
}
