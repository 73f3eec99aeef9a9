import { expect, test } from "bun:test";
import { serviceWithRelay } from "../../support/serviceWithRelay.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 60_000;
/** Half a minute's work of the relay. */
const CAMPAIGN = 150;
const BATCH = 50;
/** What may go before a message of somebody else until the read model shows that one, on a busy machine. */
const BEFORE_IT_MAX = 15;

const fixture = serviceWithRelay(sqliteStore, { query: "?connections_max=1&messages_per_second=5" });

async function sendCampaign(tenant: Tenant): Promise<void> {
  for (let sent = 0; sent < CAMPAIGN; sent += BATCH) {
    const emails = Array.from({ length: BATCH }, () => ({
      idempotency_key: newKey(),
      ...message({ to: "campaign@example.org" }),
    }));
    expect((await tenant.call("POST", "/api/v1/emails/batch", { body: { emails } })).status).toBe(200);
  }
}

test(
  "one message does not wait behind the campaign of another workspace, however slow the relay is",
  async () => {
    const { sink, service, tenant } = fixture;
    const other = await service.tenant();
    await sendCampaign(tenant);
    await sink.until(({ messages }) => messages.length > 0);
    expect((await other.send(newKey(), message({ to: "reset@example.org" }))).status).toBe(202);
    const before = sink.record.messages.length;
    const position = () => sink.record.messages.findIndex(({ to }) => to.includes("reset@example.org"));
    await until(() => position() >= 0, "the one message");
    expect(position() - before).toBeLessThanOrEqual(BEFORE_IT_MAX);
  },
  TEST_MS_MAX,
);
