import { expect, test } from "bun:test";
import { erasures } from "../../projections/erasures.ts";
import { MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import { ReadDatabaseError } from "../../src/ports/readDatabase.ts";
import { countOverdueErasures, erasureChecks } from "../../src/service/status/checks/erasureChecks.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestApp } from "../support/service.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");

test("warns of requests that have been open for more than 15 minutes, and names the oldest", () => {
  const db = emptyReadModel(erasures);
  const check = () => erasureChecks(db, NOW)[0];
  const open = (id: string, status: string, forMs: number) =>
    db.run("INSERT INTO erasures VALUES (?, 'w', ?, ?)", id, status, rfc3339(NOW - forMs));
  try {
    open("new", "requested", 15 * MINUTE_MS);
    open("done", "completed", 90 * MINUTE_MS);
    expect(check()).toMatchObject({ name: "erasures", status: "ok" });
    open("stuck", "requested", 16 * MINUTE_MS);
    open("applied", "applied", 60 * MINUTE_MS);
    expect(check()).toEqual({
      name: "erasures",
      status: "warning",
      detail:
        "2 requests to erase a person open for more than 15 minutes, the oldest since 2029-12-31T23:00:00.000Z (applied of workspace w)",
      action: expect.stringContaining('"work on an erasure was interrupted"'),
    });
    expect(countOverdueErasures(db, NOW, 10)).toBe(2);
    expect(countOverdueErasures(db, NOW, 1)).toBe(1);
  } finally {
    db.close();
  }
});

test("says nothing while the read model cannot be read", () => {
  const unavailable = () => {
    throw new ReadDatabaseError("unavailable", "not open");
  };
  expect(erasureChecks({ run: unavailable, get: unavailable, all: unavailable }, NOW)).toEqual([]);
});

test("is among what doctor asks a running service", async () => {
  const app = await startTestApp();
  try {
    const { out } = await runCommand(["doctor"], app.dataDir);
    expect(out).toContain("ok       erasures: none has been open for 15 minutes");
  } finally {
    await app.remove();
  }
});
