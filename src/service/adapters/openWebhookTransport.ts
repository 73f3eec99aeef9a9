import { ssrfCheck } from "../../adapters/https/ssrfGuard.ts";
import { webhookTransport } from "../../adapters/https/webhookTransport.ts";
import type { DestinationCheck, WebhookTransport } from "../../ports/webhookTransport.ts";
import type { Config } from "../config/config.ts";

/** Calls webhook endpoints. */
export function openWebhookTransport({ dnsServers, webhooks }: Config): WebhookTransport {
  const { allowedPrivateHosts, certificateAuthorities, callTimeoutMs } = webhooks;
  return webhookTransport({ dnsServers, allowedPrivateHosts, certificateAuthorities, callTimeoutMs });
}

/** Checks webhook destinations when a caller names them. */
export function openDestinationCheck({ dnsServers, webhooks }: Config): DestinationCheck {
  return ssrfCheck({ dnsServers, allowedPrivateHosts: webhooks.allowedPrivateHosts });
}
