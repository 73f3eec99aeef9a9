import { expect, test } from "bun:test";
import type { ServerResponse } from "node:http";
import { sqliteStore } from "../../support/stores/stores.ts";
import { newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld } from "../../support/webhook/webhookWorld.ts";

test.each([2, 12])("one endpoint gets %d calls at once, if that is the setting", async (max) => {
  const held: ServerResponse[] = [];
  let isHolding = false;
  const world = await startWebhookWorld(sqliteStore, ["busy", "well"], {
    env: { WEBHOOK_CALLS_PER_ENDPOINT_MAX: String(max), WEBHOOK_CALL_TIMEOUT_MS: "60000" },
    answer: ({ path }, response) => {
      if (isHolding && path === "/busy") held.push(response);
      else response.end("ok");
    },
  });
  const answerHeld = () => {
    isHolding = false;
    for (const response of held) response.end("ok");
  };
  try {
    const tenant = await world.service.tenant();
    const register = async (name: string): Promise<string> =>
      (await tenant.call("POST", "/webhooks", { body: { url: world.urlOf(name) } })).json.id;
    const [busy, well] = [await register("busy"), await register("well")];
    const suppress = () =>
      tenant.call("POST", "/api/v1/suppressions", { body: { address: `${newKey()}@example.com` } });
    const untilDelivered = (id: string, count: number) =>
      until(async () => {
        const { json } = await tenant.call("GET", `/webhooks/${id}/deliveries?status=delivered&limit=100`);
        return json.data.length === count;
      }, `${count} calls to be recorded`);
    // A new endpoint gets one call at a time until one got through.
    await suppress();
    await untilDelivered(busy, 1);
    isHolding = true;
    for (let count = 0; count < 20; count += 1) await suppress();
    await until(() => held.length >= max, `${max} calls at once`);
    // By then a further call would have been made too.
    await untilDelivered(well, 21);
    expect(held).toHaveLength(max);
    answerHeld();
    await untilDelivered(busy, 21);
  } finally {
    answerHeld();
    await world.remove();
  }
});
