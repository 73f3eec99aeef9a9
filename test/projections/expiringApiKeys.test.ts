import { expect, test } from "bun:test";
import { apiKeys, expiringApiKeys } from "../../projections/apiKeys.ts";
import { DAY_MS, HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const NOW = Date.parse("2030-01-08T12:00:00Z");
const RULE = { usedMs: 7 * DAY_MS, aheadMs: 7 * DAY_MS, pastMs: 7 * DAY_MS, exceptNamed: "log-in" };

test("keys in use that expire soon or did lately are found, except those that were to end", () => {
  const db = emptyReadModel(apiKeys);
  const tell = (stream: string, type: string, data: object) => {
    const metadata = { at: rfc3339(NOW), actor: "cli", correlationId: "r" };
    apiKeys.apply({ id: crypto.randomUUID(), stream, revision: 0, type, data, metadata }, db);
  };
  const issue = (id: string, expiresInMs: number, more: object = {}) =>
    tell(`apikey-${id}`, "ApiKeyIssued", {
      ...{ workspaceId: "w", name: `name of ${id}`, hash: "h", scopes: [] },
      expiresAt: rfc3339(NOW + expiresInMs),
      ...more,
    });
  const use = (id: string, agoMs = HOUR_MS) =>
    tell(`apikeyuse-${id}`, "ApiKeyUsed", { keyId: id, hour: rfc3339(NOW - agoMs) });
  const found = (workspaceId: string | null = null, max = 100) =>
    expiringApiKeys(db, { now: NOW, rule: RULE, workspaceId, max }).map(({ id }) => id);
  try {
    issue("soon", DAY_MS);
    issue("ended", -DAY_MS);
    issue("later", 8 * DAY_MS);
    issue("longAgo", -8 * DAY_MS);
    issue("idle", DAY_MS);
    issue("unused", DAY_MS);
    issue("elsewhere", 2 * DAY_MS, { workspaceId: "other" });
    issue("link", DAY_MS, { name: "log-in" });
    issue("namesake", 3 * DAY_MS, { name: "log-in", issuerId: "soon" });
    issue("revoked", DAY_MS);
    tell("apikey-revoked", "ApiKeyRevoked", {});
    for (const id of ["replaced", "beingReplaced"]) {
      issue(id, 90 * DAY_MS);
      issue(`after-${id}`, 90 * DAY_MS, { rotatedFrom: id });
    }
    const rotate = (id: string, inMs: number) =>
      tell(`apikey-${id}`, "ApiKeyRotated", { newKeyId: `after-${id}`, expiresAt: rfc3339(NOW + inMs) });
    rotate("replaced", -HOUR_MS);
    rotate("beingReplaced", HOUR_MS);
    for (const id of ["soon", "ended", "later", "longAgo", "elsewhere", "link", "namesake", "revoked"])
      use(id);
    for (const id of ["replaced", "beingReplaced"]) use(id, 2 * HOUR_MS);
    use("idle", 8 * DAY_MS);
    expect(found()).toEqual(["ended", "beingReplaced", "soon", "elsewhere", "namesake"]);
    expect(found("other")).toEqual(["elsewhere"]);
    expect(found(null, 1)).toEqual(["ended"]);
  } finally {
    db.close();
  }
});

test.each([
  [null, "api_keys_by_expiry"],
  ["w", "api_keys_not_revoked"],
])("keys of workspace %p are found by an index of their expiry", (workspaceId, index) => {
  const db = emptyReadModel(apiKeys);
  let plan = "";
  const explained = {
    ...db,
    all: (sql: string, ...values: Parameters<typeof db.all>[1][]) => {
      plan = db
        .all(`EXPLAIN QUERY PLAN ${sql}`, ...values)
        .map(({ detail }) => detail)
        .join();
      return [];
    },
  };
  try {
    expiringApiKeys(explained, { now: NOW, rule: RULE, workspaceId, max: 10 });
    expect(plan).toContain(`USING INDEX ${index}`);
  } finally {
    db.close();
  }
});
