import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import { SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { type Route, routes } from "../../../src/http/server/routes.ts";
import { newApiKey } from "../../../src/kernel/crypto/apiKeyFormat.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { lastAcceptedMs } from "../../support/lastAcceptedMs.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { type Answer, callerOf } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";
import type { Tenant } from "../../support/tenants.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LIST = "/api/v1/emails";
/** A revocation holds everywhere within this time. */
const REVOKED_MS_MAX = 1_000;

/** A key with this id and another secret, and with a checksum that is right. */
function withOtherSecret(key: string): string {
  const body = `${key.slice(0, 15)}${newApiKey().key.slice(15, 47)}`;
  let rest = Bun.hash.crc32(body);
  let digits = "";
  for (let index = 0; index < 6; index += 1) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return body + digits;
}

function withOtherEnd(key: string): string {
  return key.slice(0, -1) + (key.endsWith("A") ? "B" : "A");
}

const allRoutes: readonly [string, Route][] = Object.entries(routes);
const guarded = allRoutes.filter(([, { scope }]) => scope !== null);
const open = allRoutes.filter(([, { scope }]) => scope === null);

function withHeader(tenant: Tenant, authorization: string | null, path = LIST): Promise<Answer> {
  return tenant.call("GET", path, { headers: { authorization } });
}

function expectUnauthorized(answer: Answer): void {
  expect({ status: answer.status, code: answer.json?.code }).toEqual({ status: 401, code: "UNAUTHORIZED" });
  expect(answer.headers.get("www-authenticate")).toBe("Bearer");
}

describe("an API key in a request", () => {
  const { tenant } = serviceFixture(sqliteStore);

  const callRoute = ({ method, path }: Route, caller: Tenant, authorization?: null) =>
    caller.call(method, path.replace(":id", crypto.randomUUID()), {
      ...(method === "POST" ? { body: {} } : {}),
      ...(authorization === null ? { headers: { authorization } } : {}),
    });

  describe("is refused", () => {
    const bad: readonly [string, (key: string) => string | null][] = [
      ["without an Authorization header", () => null],
      ["with an empty header", () => ""],
      ["with the scheme alone", () => "Bearer"],
      ["with the key alone", (key) => key],
      ["with another scheme", (key) => `Basic ${key}`],
      ["with two keys", (key) => `Bearer ${key} ${key}`],
      ["with two headers in one", (key) => `Bearer ${key}, Bearer ${key}`],
      ["with quotes", (key) => `Bearer "${key}"`],
      ["with a text that is no key", () => "Bearer letmein"],
      ["with a key that was cut", (key) => `Bearer ${key.slice(0, -1)}`],
      ["with a key that has something behind it", (key) => `Bearer ${key}0`],
      ["with a key in another letter case", (key) => `Bearer ${key.toUpperCase()}`],
      ["with a wrong checksum", (key) => `Bearer ${withOtherEnd(key)}`],
      ["with a key that was never issued", () => `Bearer ${newApiKey().key}`],
      ["with a right id and a wrong secret", (key) => `Bearer ${withOtherSecret(key)}`],
      ["with a very long token", () => `Bearer pl_${"A".repeat(8_000)}`],
    ];
    for (const [how, header] of bad) {
      test(`${how}, with 401 and WWW-Authenticate`, async () => {
        expectUnauthorized(await withHeader(tenant, header(tenant.apiKey)));
      });
    }

    /** What each refusal says, and nothing more of a key that exists than of one that does not. */
    const cases: readonly [string, (key: string) => string | null, RegExp][] = [
      ["no header", () => null, /is required: the word Bearer, a space and an API key/],
      ["the key alone", (key) => key, /must be the word Bearer, a space and one API key/],
      ["another scheme", (key) => `Basic ${key}`, /must be the word Bearer/],
      ["a key that was cut", (key) => `Bearer ${key.slice(0, -1)}`, /holds no API key.*cut or mistyped/],
      ["a text that is no key", () => "Bearer letmein", /holds no API key/],
      ["a key that never was", () => `Bearer ${newApiKey().key}`, /does not know/],
      ["a right id with a wrong secret", (key) => `Bearer ${withOtherSecret(key)}`, /does not know/],
    ];
    test.each(cases)("because of %s, as the answer says", async (_, header, message) => {
      const { json } = await withHeader(tenant, header(tenant.apiKey));
      expect(json.errors).toEqual([{ pointer: "/Authorization", message: expect.stringMatching(message) }]);
    });

    test("before anything else of it is looked at", async () => {
      const answers = [
        await withHeader(tenant, null, `${LIST}?nonsense=1`),
        await withHeader(tenant, null, `${LIST}/no-uuid`),
        await tenant.call("POST", LIST, { body: "{", headers: { authorization: null } }),
        await tenant.call("POST", "/webhooks", { body: "{", headers: { authorization: null } }),
        await tenant.call("POST", `${LIST}/no-uuid/cancel`, { body: "{", headers: { authorization: null } }),
      ];
      for (const answer of answers) expectUnauthorized(answer);
    });
  });

  describe("is taken", () => {
    for (const scheme of ["Bearer ", "bearer ", "BEARER ", "Bearer   "]) {
      test(`behind "${scheme}"`, async () => {
        expect((await withHeader(tenant, scheme + tenant.apiKey)).status).toBe(200);
      });
    }
  });

  describe("scopes", () => {
    for (const [name, route] of guarded) {
      test(`${name} opens with ${route.scope} alone`, async () => {
        const scopes = SCOPES.filter((scope) => scope === route.scope);
        const { status } = await callRoute(route, await tenant.withKey({ scopes }));
        expect([401, 403, 500]).not.toContain(status);
      });
    }

    for (const [name, route] of open) {
      test(`${name} needs no key`, async () => {
        const { status } = await callRoute(route, tenant, null);
        expect([401, 403, 500]).not.toContain(status);
      });
    }

    test("no two keys are alike, and a key says nothing of its workspace", async () => {
      const other = await tenant.withKey({});
      expect(other.apiKey).not.toBe(tenant.apiKey);
      expect(tenant.apiKey).toMatch(/^pl_[0-9A-Za-z]{50}$/);
      expect(tenant.apiKey).not.toContain(tenant.workspaceId);
    });
  });
});

describe.each(await testStores())("API keys on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {});
  afterEach(() => void setSystemTime());

  describe("a request is refused", () => {
    test("and only the owner of a key learns that it was revoked or has expired", async () => {
      const [revoked, expired] = [
        await tenant.withKey({}),
        await tenant.withKey({ expiresAt: Date.now() - 1 }),
      ];
      await revokeKey(service.log, revoked.keyId, systemCommandContext("test"));
      const messageFor = async (authorization: string) =>
        (await withHeader(tenant, authorization)).json.errors[0].message;
      const unknown = await messageFor(`Bearer ${newApiKey().key}`);
      for (const [{ apiKey }, message] of [
        [revoked, "was revoked"],
        [expired, "has expired"],
      ] as const) {
        expect(await messageFor(`Bearer ${apiKey}`)).toContain(message);
        expect(await messageFor(`Bearer ${withOtherSecret(apiKey)}`)).toBe(unknown);
      }
    });

    test("with a key that has expired", async () => {
      const expired = await tenant.withKey({ expiresAt: Date.now() - 1 });
      expectUnauthorized(await expired.call("GET", LIST));
    });

    test("from the moment its key expires, though it was good just before", async () => {
      const expiresAt = Date.now() + HOUR_MS;
      const caller = await tenant.withKey({ expiresAt });
      setSystemTime(expiresAt - 1);
      expect((await caller.call("GET", LIST)).status).toBe(200);
      setSystemTime(expiresAt);
      expectUnauthorized(await caller.call("GET", LIST));
    });
  });

  describe("a revoked key opens nothing a second later", () => {
    /** Calls until the key is refused; no call that began a second after the revocation may be let in. */
    const expectRevoked = async (caller: Tenant, revoke: () => Promise<unknown>) => {
      expect((await caller.call("GET", LIST)).status).toBe(200);
      await revoke();
      const lastMs = await lastAcceptedMs(async () => {
        const answer = await caller.call("GET", LIST);
        if (answer.status !== 200) expectUnauthorized(answer);
        return answer.status === 200;
      }, "the revocation to show");
      expect(lastMs).toBeLessThan(REVOKED_MS_MAX);
      // Other keys of the workspace stay.
      expect((await tenant.call("GET", LIST)).status).toBe(200);
    };

    test("when it was revoked through another hold on the log", async () => {
      const caller = await tenant.withKey({});
      await expectRevoked(caller, () => revokeKey(service.log, caller.keyId, systemCommandContext("test")));
    });

    test("when it was revoked by a command beside the service", async () => {
      const caller = await tenant.withKey({});
      await expectRevoked(caller, async () => {
        const revoke = ["api-key", "revoke", caller.keyId];
        expect(await runCommand(revoke, service.app.dataDir, store.env)).toMatchObject({
          exitCode: 0,
          err: "",
        });
      });
    }, 60_000);
  });

  test("a workspace that a key knows by heart is of no use without its key", async () => {
    const other = await service.tenant();
    const { json } = await callerOf(service.url, other.apiKey).call(
      "GET",
      `${LIST}?idempotency_key=any-key-1`,
    );
    expect(json).toEqual({ data: [], next_cursor: null });
  });
});
