import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { currentFile } from "../../readModels/followFixtures.ts";
import type { Visitor } from "../../support/dashboard.ts";
import { dashboardFixture, logInAsOperator } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;

describe("findings of a verification are shown on the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore, {});
  let operator: Visitor;
  beforeAll(async () => {
    operator = await logInAsOperator(fixture.service, fixture.tenant);
  });

  const resultOf = async (path: string, action: string, fields: Readonly<Record<string, string>> = {}) => {
    await operator.post(`${path}/${action}`, fields);
    const isDone = async () => !(await operator.get(path)).html.includes('aria-label="Under way"');
    await until(isDone, "the task to end", TEST_MS_MAX / 2);
    return (await operator.get(path)).html;
  };

  test(
    "rows that are not as the log says are counted, and a rebuild repairs them",
    async () => {
      const { json } = await fixture.tenant.send(newKey(), message());
      const directory = join(fixture.service.app.dataDir, "projections");
      const storage = { databases: sqliteReadDatabases, directory, logId: "" };
      const db = sqliteReadDatabases.open(join(directory, currentFile(storage, "emails")), "write");
      const status = () => db.get("SELECT status FROM emails WHERE id = ?", json.id)?.status;
      await until(() => status() === "queued", "the message's row");
      db.run("UPDATE emails SET status = 'sent' WHERE id = ?", json.id);
      db.close();
      const path = "/audit/read-models";
      const found = await resultOf(path, "verify", { name: "emails" });
      expect(found).toContain("emails: 1 row differs");
      expect(found).toContain("1 difference");
      expect(await resultOf(path, "rebuild", { name: "emails" })).toContain("rebuilt and in use");
      expect(await resultOf(path, "verify", { name: "emails" })).toContain("they agree");
    },
    TEST_MS_MAX,
  );

  test(
    "a forged event is found; only the operator is shown where it is",
    async () => {
      const stream = `email-${newId()}`;
      const forged = { id: newId(), type: "SomebodyElsesEvent", data: {}, metadata: {} };
      await fixture.service.log.store.append(stream, [forged], "noStream");
      const html = await resultOf("/audit/seals", "verify");
      expect(html).toMatch(/\d+ findings?</);
      expect(html).toContain("Postledger writes no such event");
      expect(html).toContain(stream);
      const seen = (await fixture.visitor.get("/audit/seals")).html;
      expect(seen).toContain("Postledger writes no such event");
      expect(seen).not.toContain(stream);
    },
    TEST_MS_MAX,
  );
});
