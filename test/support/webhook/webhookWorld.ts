import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NameServer, startNameServer } from "../servers/nameServer.ts";
import type { TestStore } from "../stores/stores.ts";
import { startService, type TestService } from "../tenants.ts";
import { RECEIVER_CERTIFICATE } from "./receiverCertificate.ts";
import { type Answer, startWebhookReceiver, type WebhookReceiver } from "./webhookReceiver.ts";

/** A service, an HTTPS receiver that it may call, and a name server for the receiver's names. */
export interface WebhookWorld {
  readonly service: TestService;
  readonly receiver: WebhookReceiver;
  /** A URL at the receiver: each name below `receiver.example.org` is a separate endpoint. */
  urlOf(name: string): string;
  remove(): Promise<void>;
}

/** The settings that let a service call the receiver. */
export async function webhookSettings(
  receiver: Pick<WebhookReceiver, "port">,
  dns: NameServer,
  names: readonly string[],
  directory: string,
): Promise<Readonly<Record<string, string>>> {
  const authorities = join(directory, "authorities.pem");
  await writeFile(authorities, RECEIVER_CERTIFICATE);
  return {
    DNS_SERVERS: dns.address,
    WEBHOOK_CA_FILE: authorities,
    WEBHOOK_ALLOW_PRIVATE_HOSTS: names.map((name) => `${hostOf(name)}:${receiver.port}`).join(","),
  };
}

export function hostOf(name: string): string {
  return `${name}.receiver.example.org`;
}

/** A name server that answers 127.0.0.1 for every name. */
export function loopbackNames(): Promise<NameServer> {
  return startNameServer((_name, type) => (type === "A" ? ["127.0.0.1"] : []));
}

export async function startWebhookWorld(
  store: TestStore,
  names: readonly string[],
  { answer, env = {} }: { readonly answer?: Answer; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<WebhookWorld> {
  const directory = await mkdtemp(join(tmpdir(), "postledger-webhooks-"));
  const receiver = await startWebhookReceiver(answer);
  const dns = await loopbackNames();
  const settings = await webhookSettings(receiver, dns, names, directory);
  const service = await startService(store, { DELIVERY: "on", SMTP_URL: "outbox:", ...settings, ...env });
  return {
    service,
    receiver,
    urlOf: (name) => `https://${hostOf(name)}:${receiver.port}/${name}`,
    async remove() {
      await service.remove();
      receiver.stop();
      dns.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
