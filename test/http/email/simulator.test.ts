import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

describe.each(await testStores())("mail to the simulator on $name", (store: TestStore) => {
  let sink: Sink;
  let world: WebhookWorld;
  let tenant: Tenant;
  beforeAll(async () => {
    sink = await startSmtpSink();
    world = await startWebhookWorld(store, ["told"], { env: { SMTP_URL: `smtp://127.0.0.1:${sink.port}` } });
    tenant = await world.service.tenant();
    await tenant.call("POST", "/webhooks", { body: { url: world.urlOf("told") } });
  });
  afterAll(async () => {
    await world.remove();
    await sink.close();
  });

  async function ended(to: string, status: string) {
    const { json } = await tenant.send(newKey(), message({ to }));
    const read = async () => (await tenant.call("GET", `/api/v1/emails/${json.id}`)).json;
    await until(async () => (await read()).status === status, `${to} to be ${status}`);
    return read();
  }

  test.each([
    ["delivered", "delivered", "email.delivered"],
    ["bounced", "bounced", "email.bounced"],
    ["nobody", "bounced", "email.bounced"],
    ["complained", "complained", "email.complained"],
    ["failed", "failed", "email.failed"],
    ["sent", "sent", "email.sent"],
    ["deferred", "deferred", "email.delivery_delayed"],
    ["suppressed", "suppressed", "email.suppressed"],
  ])(
    "%s@ ends as %s, also with a label and repeatedly, and webhooks are sent",
    async (name, status, type) => {
      for (const to of [
        `${name}@simulator.test`,
        `${name}+order-7@Simulator.test`,
        `${name}@simulator.test`,
      ]) {
        const { id, timeline } = await ended(to, status);
        const events = () => world.receiver.calls.map(({ body }) => JSON.parse(body));
        await until(
          () => events().some((one) => one.type === type && one.data.id === id),
          `the ${type} webhook`,
        );
        const took = timeline.find((one: { type: string }) => one.type === "sent");
        if (took !== undefined) expect(took).toMatchObject({ transport: "simulator" });
      }
      expect((await tenant.call("GET", `/api/v1/suppressions/${name}@simulator.test`)).status).toBe(404);
    },
  );

  test("never reaches the relay, where other mail does", async () => {
    await ended("ana@example.net", "sent");
    expect(sink.record.messages.map(({ to }) => to)).toEqual([["ana@example.net"]]);
    expect(sink.record.mails).toBe(1);
  });
});
