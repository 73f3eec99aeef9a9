import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ReceivedCall, startWebhookReceiver } from "../../support/webhook/webhookReceiver.ts";
import { hostOf, loopbackNames, webhookSettings } from "../../support/webhook/webhookWorld.ts";

/** What endpoints can be like. */
export const BEHAVIOURS = [
  "well",
  "flaky",
  "fails",
  "hangs",
  "redirects",
  "gone",
  "busy",
  "drips",
  "endless",
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** A call as a receiver got it. */
export interface SeenCall {
  /** `webhook-id`. */
  readonly id: string;
  readonly path: string;
  /** When all of it had come, in ms since the epoch. */
  readonly at: number;
  /** What was answered; null where there was no answer that could be read to its end. */
  readonly status: number | null;
}

/** HTTPS receivers of all kinds behind one port, told apart by the first part of the path. */
export interface WebhookReceivers {
  /** With which a service may call them, and finds them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly calls: readonly SeenCall[];
  /** From now on every receiver is well, or none answers anything; null: each is as it is. */
  all: "well" | "hangs" | null;
  /** Calls that are not yet answered. */
  underWay(): number;
  /** A new, unused destination. */
  newUrl(behaviour: Behaviour): string;
  stop(): Promise<void>;
}

const NAME = "crash";
const FLAKY_SHARE = 0.5;
const DRIP_MS = 25;
const ENDLESS_BYTES_MAX = 1_000_000_000;
const CHUNK = Buffer.alloc(65_536, "x");
/** The target of a redirection, which must never be called. */
const REDIRECT_TARGET = "trap";

/** Sends one byte at a time until the caller gives up. */
function sendSlowly(response: ServerResponse): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write("."), DRIP_MS);
  response.on("close", () => clearInterval(timer));
}

/** Sends a gigabyte, unless the caller gives up first. */
function sendEndlessly(response: ServerResponse): void {
  response.writeHead(200);
  let bytes = 0;
  const write = () => {
    while (!response.destroyed && bytes < ENDLESS_BYTES_MAX) {
      bytes += CHUNK.length;
      if (!response.write(CHUNK)) return;
    }
    response.end();
  };
  response.on("drain", write);
  write();
}

/** Answers according to the behaviour. Returns the status, or null if the answer never ends. */
function answerAs(behaviour: string, response: ServerResponse, host: string): number | null {
  const answer = (status: number, headers: Record<string, string> = {}) => {
    response.writeHead(status, headers).end("told");
    return status;
  };
  switch (behaviour) {
    case "flaky":
      return answer(Math.random() < FLAKY_SHARE ? 500 : 200);
    case "fails":
      return answer(500);
    case "redirects":
      return answer(302, { location: `https://${host}/${REDIRECT_TARGET}` });
    case "gone":
      return answer(410);
    case "busy":
      return answer(429, { "retry-after": "1" });
    case "hangs":
      return null;
    case "drips":
      sendSlowly(response);
      return null;
    case "endless":
      sendEndlessly(response);
      return 200;
    default:
      return answer(200);
  }
}

export async function startWebhookReceivers(): Promise<WebhookReceivers> {
  const calls: SeenCall[] = [];
  const open = new Set<ServerResponse>();
  let serial = 0;
  const onCall = ({ path, headers }: ReceivedCall, response: ServerResponse) => {
    const at = Date.now();
    open.add(response);
    response.on("close", () => open.delete(response));
    response.on("error", () => {});
    const [, behaviour = ""] = path.split("/");
    const status = answerAs(receivers.all ?? behaviour, response, host);
    calls.push({ id: headers["webhook-id"] ?? "", path, at, status });
  };
  const receiver = await startWebhookReceiver(onCall);
  const host = `${hostOf(NAME)}:${receiver.port}`;
  const dns = await loopbackNames();
  const directory = await mkdtemp(join(tmpdir(), "postledger-receivers-"));
  const receivers: WebhookReceivers = {
    settings: await webhookSettings(receiver, dns, [NAME], directory),
    calls,
    all: null,
    underWay: () => open.size,
    newUrl(behaviour) {
      serial += 1;
      return `https://${host}/${behaviour}/${serial}`;
    },
    async stop() {
      receiver.stop();
      dns.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return receivers;
}
