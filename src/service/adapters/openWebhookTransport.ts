import { ssrfCheck } from "../../adapters/https/ssrfGuard.ts";
import { webhookTransport } from "../../adapters/https/webhookTransport.ts";
import type { DestinationCheck, WebhookTransport } from "../../ports/webhookTransport.ts";
import type { Config } from "../config/config.ts";

/** What calls webhook endpoints. */
export function openWebhookTransport({ dnsServers, webhooks }: Config): WebhookTransport {
  const { allowedPrivateHosts, certificateAuthorities, callTimeoutMs } = webhooks;
  return webhookTransport({ dnsServers, allowedPrivateHosts, certificateAuthorities, callTimeoutMs });
}

/** What looks at webhook destinations when they are named. */
export function openDestinationCheck({ dnsServers, webhooks }: Config): DestinationCheck {
  return ssrfCheck({ dnsServers, allowedPrivateHosts: webhooks.allowedPrivateHosts });
}
