import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Dependencies } from "../../src/commands/dependencies.ts";
import { registerWebhookEndpoint } from "../../src/commands/webhook/registerWebhookEndpoint.ts";
import { newWorkspace } from "../../src/commands/workspace/manageWorkspace.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { openLog } from "../support/tenants.ts";
import { RECEIVER_CERTIFICATE } from "../support/webhook/receiverCertificate.ts";
import { hostOf } from "../support/webhook/webhookWorld.ts";
import { sampleEvents } from "./append.ts";
import type { FreshStore } from "./benchStores.ts";
import { seededRandom } from "./httpLoad.ts";
import { startLoopbackNames } from "./loopbackNames.ts";
import { HANGING_PATH, HEALTHY_PATH, startWebhookSink, type WebhookSink } from "./webhookSink.ts";

/** How many workspaces, endpoints in each, and of these how many never answer. */
export interface SetupSize {
  readonly workspaces: number;
  readonly endpoints: number;
  readonly hanging: number;
}

/** A log with workspaces and endpoints in it, receivers for these, and the settings to call them. */
export interface WebhookSetup {
  readonly sink: WebhookSink;
  readonly log: Dependencies;
  readonly settings: Readonly<Record<string, string>>;
  readonly workspaceIds: readonly string[];
  readonly hosts: readonly string[];
  /** Appends so many events that endpoints are told of, one workspace after the other, and no mail comes of. */
  addEvents(events: number): Promise<void>;
  stop(): Promise<void>;
}

const APPENDS_AT_ONCE = 64;

/** Each endpoint has a name of its own; all names are this machine's, and all are one receiver. */
export async function makeWebhookSetup(fresh: FreshStore, size: SetupSize): Promise<WebhookSetup> {
  const sink = await startWebhookSink();
  const dns = await startLoopbackNames();
  const log = await openLog(fresh.env);
  const authorities = join(fresh.env.DATA_DIR as string, "authorities.pem");
  await writeFile(authorities, RECEIVER_CERTIFICATE);
  const workspaceIds: string[] = [];
  const hosts: string[] = [];
  const addWorkspace = async (number: number) => {
    const context = systemCommandContext("bench");
    const workspaceId = await newWorkspace(log, "bench", context);
    workspaceIds.push(workspaceId);
    for (let index = 0; index < size.endpoints; index += 1) {
      const host = hostOf(`e${number}-${index}`);
      hosts.push(host);
      const path = index < size.hanging ? HANGING_PATH : HEALTHY_PATH;
      const url = `https://${host}:${sink.port}${path}`;
      const endpoint = { url, description: null, eventTypes: null };
      const { kind } = await registerWebhookEndpoint(log, endpoint, { ...context, workspaceId });
      if (kind !== "registered") throw new Error(`an endpoint was not registered: ${kind}`);
    }
  };
  await Promise.all(Array.from({ length: size.workspaces }, (_, number) => addWorkspace(number)));
  const random = seededRandom(4);
  let turn = 0;
  const addEvent = async () => {
    const workspaceId = workspaceIds[turn++ % workspaceIds.length] as string;
    const events = sampleEvents(random, { workspaceId, suppressed: true });
    await log.store.append(`email-${crypto.randomUUID()}`, events, "noStream");
  };
  return {
    sink,
    log,
    settings: {
      DELIVERY: "on",
      SMTP_URL: "outbox:",
      DNS_SERVERS: dns.address,
      WEBHOOK_CA_FILE: authorities,
      WEBHOOK_ALLOW_PRIVATE_HOSTS: hosts.map((host) => `${host}:${sink.port}`).join(","),
    },
    workspaceIds,
    hosts,
    async addEvents(events) {
      let left = events;
      const caller = async () => {
        while (left-- > 0) await addEvent();
      };
      await Promise.all(Array.from({ length: APPENDS_AT_ONCE }, caller));
    },
    async stop() {
      await log.store.close();
      sink.stop();
      dns.stop();
    },
  };
}
