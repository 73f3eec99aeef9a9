import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { callerOf, startTestApp, type TestApp } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** What no message was accepted at: whoever answers it has read the row that the test changed. */
const MARKED_AT = "2001-02-03T04:05:06.789Z";

const shared = (await testStores()).filter(({ isShared }) => isShared);
if (shared.length === 0) test.skip("a send that is repeated at another instance on EventStoreDB", () => {});

describe.each(shared)("a send that is repeated at another instance on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  let other: TestApp;
  let otherInstance: ReturnType<typeof callerOf>;
  let rows: DatabaseSync;
  beforeAll(async () => {
    service = await startService(store);
    tenant = await service.tenant();
    other = await startTestApp({ env: { ...store.env, BOOTSTRAP: "off", DELIVERY: "off" } });
    otherInstance = callerOf(other.url, tenant.apiKey);
    const folder = join(other.dataDir, "projections");
    const [file = ""] = (await readdir(folder)).filter((name) => /^emails\.[\d.]+\.db$/.test(name));
    rows = new DatabaseSync(join(folder, file), { timeout: 5_000 });
  });
  afterAll(async () => {
    rows.close();
    await other.remove();
    await service.remove();
  });

  const isListed = (id: string) =>
    rows.prepare("SELECT created_at FROM emails WHERE id = ?").get(id) !== undefined;

  /** A message that was accepted by the one, once the rows of the other have it. */
  async function acceptAndList(key: string) {
    const first = await tenant.send(key, message());
    expect(first.status).toBe(202);
    await until(() => isListed(first.json.id), "the other instance's row");
    return first;
  }

  test("is answered as the first was, from the rows, whatever the log says", async () => {
    const key = newKey();
    const { json } = await acceptAndList(key);
    rows.prepare("UPDATE emails SET created_at = ? WHERE id = ?").run(MARKED_AT, json.id);
    const repeat = await otherInstance.send(key, message());
    expect(repeat).toMatchObject({ status: 202, json: { ...json, created_at: MARKED_AT } });
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
  });

  test("gets the same bytes as the first", async () => {
    const key = newKey();
    const { text } = await acceptAndList(key);
    expect((await otherInstance.send(key, message())).text).toBe(text);
  });

  test("with changed content is a conflict, by the log", async () => {
    const key = newKey();
    await acceptAndList(key);
    const changed = await otherInstance.send(key, message({ subject: "Changed" }));
    expect(changed).toMatchObject({ status: 409, json: { code: "IDEMPOTENCY_CONFLICT" } });
  });

  test("is answered by the log while the rows lag behind it", async () => {
    const key = newKey();
    const { json, text } = await acceptAndList(key);
    // As they are before the follower has come to it.
    rows.prepare("DELETE FROM emails WHERE id = ?").run(json.id);
    const repeat = await otherInstance.send(key, message());
    expect(repeat).toMatchObject({ status: 202, text });
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
    const changed = await otherInstance.send(key, message({ subject: "Changed" }));
    expect(changed).toMatchObject({ status: 409, json: { code: "IDEMPOTENCY_CONFLICT" } });
    expect(isListed(json.id)).toBe(false);
  });
});
