import { expect, test } from "bun:test";
import { webhookDeliveries } from "../../projections/webhookDeliveries/webhookDeliveries.ts";
import { HOUR_MS, MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import { ReadDatabaseError } from "../../src/ports/readDatabase.ts";
import { webhookEndpointChecks } from "../../src/service/status/checks/webhookEndpointChecks.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestApp } from "../support/service.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");

test("names the endpoints that have only failed for an hour, and counts the others", () => {
  const db = emptyReadModel(webhookDeliveries);
  const check = () => webhookEndpointChecks(() => db, NOW)[0];
  const fail = (id: string, forMs: number, failures: number) => {
    db.run("INSERT INTO endpoints (id, workspace_id, active) VALUES (?, 'w', 1)", id);
    const since = rfc3339(NOW - forMs);
    db.run(
      "INSERT INTO failing (endpoint_id, since, failures, event_id, events) VALUES (?, ?, ?, 'e', 1)",
      id,
      since,
      failures,
    );
  };
  try {
    fail("new", HOUR_MS - MINUTE_MS, 30);
    fail("once", 2 * HOUR_MS, 2);
    expect(check()).toMatchObject({ name: "webhook endpoints", status: "ok" });
    fail("shop", HOUR_MS, 3);
    expect(check()).toMatchObject({
      status: "warning",
      detail: "1 endpoint got nothing for an hour: shop of workspace w",
      action: expect.stringContaining("after 120 hours without success it is disabled"),
    });
    for (let nth = 0; nth < 6; nth += 1) fail(`other${nth}`, HOUR_MS, 3);
    expect(check()?.detail).toMatch(/^7 endpoints got nothing for an hour: .*, 2 more$/);
  } finally {
    db.close();
  }
});

test("says nothing while the read model cannot be read", () => {
  const unavailable = () => {
    throw new ReadDatabaseError("unavailable", "not open");
  };
  expect(webhookEndpointChecks(unavailable, NOW)).toEqual([]);
});

test("is among what doctor asks a running service", async () => {
  const app = await startTestApp();
  try {
    const { out } = await runCommand(["doctor"], app.dataDir);
    expect(out).toContain("ok       webhook endpoints: none has only failed for an hour");
  } finally {
    await app.remove();
  }
});
