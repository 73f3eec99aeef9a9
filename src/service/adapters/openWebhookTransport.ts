import { webhookTransport } from "../../adapters/https/webhookTransport.ts";
import type { WebhookTransport } from "../../ports/webhookTransport.ts";
import type { Config } from "../config/config.ts";

export function openWebhookTransport({ dnsServers, webhooks }: Config): WebhookTransport {
  const { allowedPrivateHosts, certificateAuthorities, callTimeoutMs } = webhooks;
  return webhookTransport({ dnsServers, allowedPrivateHosts, certificateAuthorities, callTimeoutMs });
}
