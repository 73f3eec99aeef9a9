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

test("names the endpoints that are behind with their deliveries, how many are due and since when", () => {
  const db = emptyReadModel(webhookDeliveries);
  const register = (id: string, active: 0 | 1) =>
    db.run("INSERT INTO endpoints (id, workspace_id, active) VALUES (?, 'w', ?)", id, active);
  const makeDue = (endpointId: string, ...agesMs: readonly number[]) => {
    const oldest = NOW - Math.max(...agesMs);
    db.run("INSERT INTO backlogs (endpoint_id, due_at) VALUES (?, ?)", endpointId, oldest);
    for (const [nth, ageMs] of agesMs.entries())
      db.run(
        `INSERT INTO deliveries (id, workspace_id, endpoint_id, event_id, event_type, event_stream, event_revision,
          created_at, status, state, due_at, attempts, events, lease_ms, updated_at, held)
          VALUES (?, 'w', ?, 'e', 't', 's', 0, 'c', 'pending', 'ready', ?, 0, 0, 0, 'u', 0)`,
        `${endpointId}-${nth}`,
        endpointId,
        NOW - ageMs,
      );
  };
  try {
    register("quick", 1);
    makeDue("quick", 15 * MINUTE_MS - 1, MINUTE_MS);
    register("off", 0);
    makeDue("off", HOUR_MS);
    expect(webhookEndpointChecks(() => db, NOW)).toHaveLength(1);
    register("slow", 1);
    makeDue("slow", 15 * MINUTE_MS, MINUTE_MS, 0, -MINUTE_MS);
    register("slower", 1);
    makeDue("slower", 50 * MINUTE_MS);
    expect(webhookEndpointChecks(() => db, NOW)[1]).toEqual({
      name: "webhook backlogs",
      status: "warning",
      detail:
        "deliveries of 2 endpoints are late: slower of workspace w (1 due, the oldest for 50 min), slow of workspace w (3 due, the oldest for 15 min)",
      action: expect.stringContaining("answer at once"),
    });
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
