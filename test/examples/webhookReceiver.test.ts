import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { type WebhookEvent, webhookReceiver } from "../../examples/webhookReceiver.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { ROOT } from "../support/root.ts";
import type { NameServer } from "../support/servers/nameServer.ts";
import { testStores } from "../support/stores/stores.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "../support/webhook/receiverCertificate.ts";
import { hostOf, loopbackNames, webhookSettings } from "../support/webhook/webhookWorld.ts";

/** A call as it came, and what it was answered with. */
interface Processed {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
}

describe.each(await testStores())("the receiver of the example, called by a service on $name", (store) => {
  const directory = temporaryFolder();
  let dns: NameServer;
  let service: TestService;
  let tenant: Tenant;
  let endpoint: { readonly id: string; readonly secret: string };
  let receive: (request: Request) => Promise<Response> = async () => new Response("", { status: 503 });
  let work: (event: WebhookEvent) => void = () => {};
  const processed: Processed[] = [];
  const events: WebhookEvent[] = [];
  const repeated = ({ headers, body }: Pick<Processed, "headers" | "body">) =>
    receive(new Request("https://localhost/", { method: "POST", headers, body }));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: RECEIVER_CERTIFICATE, key: RECEIVER_KEY },
    async fetch(request) {
      const call = { headers: Object.fromEntries(request.headers), body: await request.text() };
      const answer = await repeated(call);
      processed.push({ ...call, status: answer.status });
      return answer;
    },
  });
  const onEvent = (event: WebhookEvent) => {
    work(event);
    events.push(event);
  };

  beforeAll(async () => {
    dns = await loopbackNames();
    const port = Number(server.port);
    const settings = await webhookSettings({ port }, dns, ["example"], directory);
    const env = { DELIVERY: "on", SMTP_URL: "outbox:", WEBHOOK_SCHEDULE_MS: "0,50,50", ...settings };
    service = await startService(store, env);
    tenant = await service.tenant();
    const url = `https://${hostOf("example")}:${port}/postledger`;
    endpoint = (await tenant.call("POST", "/webhooks", { body: { url } })).json;
    receive = webhookReceiver({ secret: endpoint.secret, onEvent });
  });
  beforeEach(() => {
    work = () => {};
    processed.length = 0;
    events.length = 0;
  });
  afterAll(async () => {
    await service.remove();
    await server.stop(true);
    dns.stop();
  });

  /** Asks for a test event and waits until it was answered. */
  const receiveTestEvent = async (count = 1): Promise<Processed> => {
    await tenant.call("POST", `/webhooks/${endpoint.id}/test`);
    await until(() => processed.length >= count, "the call");
    return processed[count - 1] as Processed;
  };

  test("lets in what happens to a message, and drops what it has had", async () => {
    const { json } = await tenant.send(newKey(), message({ metadata: { order: "A-7" } }));
    await until(() => events.length === 2, "both events");
    expect(events.map(({ type }) => type).sort()).toEqual(["email.queued", "email.sent"]);
    for (const { data } of events) expect(data).toMatchObject({ id: json.id, metadata: { order: "A-7" } });

    const id = processed[0]?.headers["webhook-id"] as string;
    await tenant.call("POST", `/webhooks/${endpoint.id}/deliveries/${id}/retry`);
    await until(() => processed.length === 3, "the repeat");
    expect(processed.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(processed[2]?.headers["webhook-id"]).toBe(id);
    expect(events).toHaveLength(2);
  });

  test("lets in nothing else", async () => {
    const { headers, body } = await receiveTestEvent();
    const sign = (secret: string, at: Date) => ({
      ...headers,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign(headers["webhook-id"] as string, at, body),
    });
    const now = Date.now();
    const other = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const hostile: Readonly<Record<string, Pick<Processed, "headers" | "body">>> = {
      "another body": { headers, body: body.replace("webhook.test", "webhook.pest") },
      "another id": { headers: { ...headers, "webhook-id": crypto.randomUUID() }, body },
      "another time": {
        headers: { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) },
        body,
      },
      "another secret": { headers: sign(other, new Date(now)), body },
      "an old time": { headers: sign(endpoint.secret, new Date(now - 10 * 60_000)), body },
      "a time to come": { headers: sign(endpoint.secret, new Date(now + 10 * 60_000)), body },
      "no signature": { headers: { ...headers, "webhook-signature": "" }, body },
    };
    events.length = 0;
    for (const [what, call] of Object.entries(hostile)) {
      expect({ what, status: (await repeated(call)).status }).toEqual({ what, status: 401 });
    }
    expect((await repeated({ headers: sign(endpoint.secret, new Date(now)), body })).status).toBe(200);
    expect(events).toEqual([]);
  });

  test("gets again what it could not do", async () => {
    let failures = 1;
    work = () => {
      failures -= 1;
      if (failures >= 0) throw new Error("the database is unavailable");
    };
    await receiveTestEvent(2);
    expect(processed.slice(0, 2).map(({ status }) => status)).toEqual([500, 200]);
    expect(processed[0]?.headers["webhook-id"]).toBe(processed[1]?.headers["webhook-id"] as string);
    expect(events).toHaveLength(1);
  });

  test("is accepted by the libraries of Standard Webhooks and Svix, with either secret of a rotation", async () => {
    const isVerified = ({ headers, body }: Processed, secret: string) =>
      [new Webhook(secret), new SvixWebhook(secret)].map((webhook) => {
        try {
          webhook.verify(body, { ...headers });
          return true;
        } catch {
          return false;
        }
      });
    const rotate = async (overlapSeconds: number): Promise<string> => {
      const path = `/webhooks/${endpoint.id}/rotate-secret?overlap_seconds=${overlapSeconds}`;
      return (await tenant.call("POST", path)).json.secret;
    };
    expect(isVerified(await receiveTestEvent(), endpoint.secret)).toEqual([true, true]);
    const second = await rotate(600);
    const both = await receiveTestEvent(2);
    expect(both.status).toBe(200);
    for (const secret of [endpoint.secret, second]) expect(isVerified(both, secret)).toEqual([true, true]);
    const third = await rotate(0);
    // The receiver still has the first secret: it is not to let this in.
    const after = await receiveTestEvent(3);
    expect(after.status).toBe(401);
    expect(isVerified(after, third)).toEqual([true, true]);
    for (const secret of [endpoint.secret, second]) expect(isVerified(after, secret)).toEqual([false, false]);
  });
});

test.each([{}, { WEBHOOK_SECRET: "" }])(
  "started with %p the example names the variable it lacks",
  async (env) => {
    const { PATH = "" } = process.env;
    const words = [process.execPath, join(ROOT, "examples/webhookReceiver.ts")];
    const { exitCode, out, err } = await runProcess(words, { env: { PATH, PORT: "0", ...env } });
    expect([exitCode, out]).toEqual([1, ""]);
    expect(err).toMatch(/^WEBHOOK_SECRET is not set: [^\n]+\n$/);
  },
);
