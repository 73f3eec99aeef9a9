import { request } from "node:https";
import type { LookupFunction } from "node:net";
import { RECEIVER_CERTIFICATE } from "../support/webhook/receiverCertificate.ts";

/** What the bare client is told. */
export interface BareCalls {
  readonly port: number;
  readonly hosts: readonly string[];
  readonly calls: number;
  /** Under way at once. */
  readonly callers: number;
}

/** The bytes of a payload as endpoints get it. */
const BODY = JSON.stringify({
  type: "email.suppressed",
  timestamp: new Date(0).toISOString(),
  data: {
    id: "11111111-1111-4111-8111-111111111111",
    object: "email",
    status: "suppressed",
    created_at: new Date(0).toISOString(),
    sequence: 1,
    metadata: null,
    reason: "recipient_suppressed",
  },
});

/** Until its code is compiled; not counted. */
const WARM_CALLS = 500;

/** How long, in seconds, a client takes that does nothing else, in a process of its own: no log, no look-ups. */
export async function bareWebhookCalls(options: BareCalls): Promise<number> {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(options)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the bare client failed");
  return Number(text);
}

/** One HTTPS call on a connection of its own, with the certificate checked for the name. */
function callOnce(host: string, port: number): Promise<void> {
  const lookup: LookupFunction = (_host, { all }, callback) => {
    if (all) callback(null, [{ address: "127.0.0.1", family: 4 }]);
    else callback(null, "127.0.0.1", 4);
  };
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(BODY),
      connection: "close",
    };
    const target = { host, servername: host, port, path: "/bare", method: "POST", headers };
    const sent = request({ ...target, lookup, agent: false, ca: RECEIVER_CERTIFICATE }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`a call was answered by ${answer.statusCode}`));
      answer.on("data", () => {});
      answer.on("error", reject);
      answer.on("end", () => {
        sent.destroy();
        resolve();
      });
    });
    sent.on("error", reject);
    sent.end(BODY);
  });
}

async function callAll({ port, hosts, callers }: BareCalls, calls: number): Promise<number> {
  let next = 0;
  const startedAt = performance.now();
  const caller = async () => {
    while (next < calls) await callOnce(hosts[next++ % hosts.length] as string, port);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return (performance.now() - startedAt) / 1_000;
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? "{}") as BareCalls;
  await callAll(options, WARM_CALLS);
  process.stdout.write(String(await callAll(options, options.calls)));
}
