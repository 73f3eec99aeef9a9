import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { issueKey } from "../../../src/commands/apiKey/issueApiKey.ts";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import { markVerified, newSender } from "../../../src/commands/sender/manageSender.ts";
import { apiKeyStream } from "../../../src/domain/apiKey/events.ts";
import { SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { apiKeyUseStream } from "../../../src/domain/apiKeyUse/events.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { type Caller, callerOf } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/api-keys";
const ACTIVE_KEYS_MAX = 1_000;
const RENAMES_PER_DAY_MAX = 20;
const HOUR_MS = 3_600_000;
/** Long enough for a busy machine to issue a key and try it before it expires. */
const EXPIRY_MS = 4_000;
const UNKNOWN_ID = "abcdefghijkl";

const keyBody = (parts: Record<string, unknown> = {}) => ({ name: "shop", scopes: ["email:send"], ...parts });
const issue = async (caller: Caller, parts: Record<string, unknown> = {}) => {
  const answer = await caller.call("POST", PATH, { body: keyBody(parts) });
  return answer;
};
const list = async (caller: Caller, query = "") => {
  const answer = await caller.call("GET", PATH + query);
  return answer;
};
const get = async (caller: Caller, id: string) => {
  const answer = await caller.call("GET", `${PATH}/${id}`);
  return answer;
};
const revoke = async (caller: Caller, id: string) => {
  const answer = await caller.call("POST", `${PATH}/${id}/revoke`);
  return answer;
};

describe.each(await testStores())("a workspace's API keys on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService(store, { TRUSTED_PROXIES: "127.0.0.1,::1" });
    tenant = await service.tenant({ sender: null });
  });
  afterAll(() => service.remove());

  const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();
  const opens = async (key: string, path = "/api/v1/emails"): Promise<number> =>
    (await callerOf(service.url, key).call("GET", path)).status;

  describe("issuing", () => {
    test("answers 201 with the key, which opens what its scopes say", async () => {
      const answer = await issue(tenant, { scopes: ["email:read", "email:send"], expires_at: null });
      expect(answer.status).toBe(201);
      const { key, missing_senders: _missing, ...json } = answer.json;
      expect(json).toMatchObject({
        object: "api_key",
        name: "shop",
        scopes: ["email:read", "email:send"],
        status: "active",
        expires_at: null,
      });
      expect(key).toStartWith(`pl_${json.id}`);
      expect(await opens(key)).toBe(200);
      expect(await opens(key, PATH)).toBe(403);
      const location = answer.headers.get("location");
      expect(location).toBe(`${PATH}/${json.id}`);
      const read = (await tenant.call("GET", location ?? "")).json;
      expect(read).toEqual({ ...json, last_used_at: read.last_used_at });
    });

    test("shows the key in that answer only", async () => {
      const own = await service.tenant({ sender: null });
      const { key, id } = (await issue(own)).json;
      const hash = service.log.keys.hashApiKey(key);
      const stored = JSON.stringify(await service.log.store.read(apiKeyStream(id), 0, 10));
      const answers = [await list(own), await get(own, id), await revoke(own, id)];
      for (const { text } of answers) {
        expect(text).not.toContain(key.slice(-38));
        expect(text).not.toContain(hash);
      }
      expect(stored).not.toContain(key.slice(-38));
      expect(stored).toContain(hash);
    });

    test("with an expiry makes a key that opens nothing from then on", async () => {
      const { json } = await issue(tenant, { scopes: ["email:read"], expires_at: fromNow(EXPIRY_MS) });
      expect(await opens(json.key)).toBe(200);
      await until(async () => (await opens(json.key)) === 401, "the key to expire");
      expect((await get(tenant, json.id)).json.status).toBe("expired");
      const listed = (await list(tenant)).json.data.find(({ id }: { id: string }) => id === json.id);
      expect(listed.status).toBe("expired");
    });

    test("keeps an expiry in UTC, however it is written", async () => {
      const { json } = await issue(tenant, { expires_at: "2090-01-01T02:00:00+02:00" });
      expect(json.expires_at).toBe("2090-01-01T00:00:00.000Z");
    });

    const refused: readonly [string, Record<string, unknown>, string][] = [
      ["without a name", { name: undefined }, "/name"],
      ["with an empty name", { name: "" }, "/name"],
      ["with a name of 201 characters", { name: "n".repeat(201) }, "/name"],
      ["with a name of spaces", { name: "  " }, "/name"],
      ["with a name of two lines", { name: "shop\nforged" }, "/name"],
      ["with a name that turns text round", { name: "a\u202eb" }, "/name"],
      ["with a name with a character that cannot be seen", { name: "sh\u200bop" }, "/name"],
      ["without scopes", { scopes: undefined }, "/scopes"],
      ["with no scope", { scopes: [] }, "/scopes"],
      ["with a scope twice", { scopes: ["email:send", "email:send"] }, "/scopes"],
      ["with a scope that there is not", { scopes: ["email:send", "admin"] }, "/scopes/1"],
      ["with an expiry that is no time", { expires_at: "tomorrow" }, "/expires_at"],
      ["with an expiry on 30 February", { expires_at: "2090-02-30T00:00:00Z" }, "/expires_at"],
      ["with an expiry without a time zone", { expires_at: "2090-01-01T00:00:00" }, "/expires_at"],
      ["with an expiry that is over", { expires_at: "2020-01-01T00:00:00Z" }, "/expires_at"],
      ["with an expiry that is a number", { expires_at: 4_000_000_000 }, "/expires_at"],
      ["with a field that there is not", { workspace_id: crypto.randomUUID() }, "/workspace_id"],
      ["with a person without a name", { person: "" }, "/person"],
      ["with two persons", { person: "ana@example.com,ben@example.com" }, "/person"],
      ["with a person in two lines", { person: "ana\nben" }, "/person"],
      ["with a person with a space too many", { person: "ana " }, "/person"],
      ["with a person that no header names", { person: "añа" }, "/person"],
      ["with a person of 321 characters", { person: "a".repeat(321) }, "/person"],
      ["with a key of its own choice", { key: "pl_mine" }, "/key"],
    ];
    for (const [how, parts, pointer] of refused) {
      test(`${how} is refused at ${pointer}`, async () => {
        const answer = await issue(tenant, parts);
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.errors[0].pointer).toStartWith(pointer);
      });
    }

    test("takes a name of 200 characters, emoji as well", async () => {
      const name = "🔑".repeat(200);
      expect((await issue(tenant, { name })).json.name).toBe(name);
    });
  });

  describe("a key gives only what it has:", () => {
    test("every scope that it holds or that is part of one, and no other", async () => {
      const issuer = await tenant.withKey({ scopes: ["workspace:manage", "email:read"] });
      for (const scope of SCOPES) {
        const answer = await issue(issuer, { scopes: [scope] });
        if (["workspace:manage", "email:read", "email:status"].includes(scope))
          expect(answer.status).toBe(201);
        else {
          expectProblem(answer, 403, "FORBIDDEN");
          expect(answer.json.detail).toContain(scope);
        }
      }
      expectProblem(await issue(issuer, { scopes: ["email:read", "email:send"] }), 403, "FORBIDDEN");
      const narrow = await tenant.withKey({ scopes: ["workspace:manage", "email:status"] });
      expect((await issue(narrow, { scopes: ["email:status"] })).status).toBe(201);
      expectProblem(await issue(narrow, { scopes: ["email:read"] }), 403, "FORBIDDEN");
    });

    test("no more time than it has itself", async () => {
      const expiresAt = Date.now() + HOUR_MS;
      const issuer = await tenant.withKey({ expiresAt });
      for (const expires_at of [
        undefined,
        null,
        fromNow(2 * HOUR_MS),
        new Date(expiresAt + 1).toISOString(),
      ]) {
        const answer = await issue(issuer, { expires_at });
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.errors[0].pointer).toBe("/expires_at");
        expect(answer.json.detail).toContain(new Date(expiresAt).toISOString());
      }
      const atIssuerExpiry = await issue(issuer, { expires_at: new Date(expiresAt).toISOString() });
      expect(atIssuerExpiry.status).toBe(201);
      expect((await issue(issuer, { expires_at: fromNow(HOUR_MS / 2) })).status).toBe(201);
    });

    test("nothing after it was revoked, even while a cache still accepts it", async () => {
      const issuer = await tenant.withKey({});
      expect((await list(issuer)).status).toBe(200);
      // This service still has the key in its memory, as a second instance would.
      await revokeKey(service.log, issuer.keyId, systemCommandContext("test"));
      expectProblem(await issue(issuer), 401, "UNAUTHORIZED");
    });
  });

  describe("the list", () => {
    test("holds every key of the workspace, newest first, each once over its pages", async () => {
      const own = await service.tenant({ sender: null });
      const issued: string[] = [own.keyId];
      for (let index = 0; index < 4; index += 1) issued.unshift((await issue(own)).json.id);
      await revoke(own, issued[1] as string);
      const { json } = await list(own);
      expect(json.next_cursor).toBeNull();
      expect(json.data.map(({ id }: { id: string }) => id)).toEqual(issued);
      expect(json.data.map(({ status }: { status: string }) => status)).toEqual([
        "active",
        "revoked",
        "active",
        "active",
        "active",
      ]);
      const paged: unknown[] = [];
      for (let query = "?limit=2"; query !== ""; ) {
        const page = (await list(own, query)).json;
        paged.push(...page.data);
        query = page.next_cursor === null ? "" : `?limit=2&cursor=${encodeURIComponent(page.next_cursor)}`;
      }
      expect(paged).toEqual(json.data);
    });

    test("is where each key is at once, also one that a command has issued", async () => {
      const own = await service.tenant({ sender: null });
      const other = await own.withKey({});
      const { json } = await list(own);
      expect(json.data.map(({ id }: { id: string }) => id).sort()).toEqual([own.keyId, other.keyId].sort());
      await revokeKey(service.log, other.keyId, systemCommandContext("test"));
      const found = (await list(own)).json.data.find(({ id }: { id: string }) => id === other.keyId);
      expect(found.status).toBe("revoked");
    });

    test.each([
      ["limit=0", "/limit"],
      ["cursor=abc", "/cursor"],
      ["status=active", "/status"],
    ])("refuses %s", async (query, pointer) => {
      const answer = await list(tenant, `?${query}`);
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors[0].pointer).toStartWith(pointer);
    });
  });

  describe("renaming", () => {
    const rename = (caller: Caller, id: string, body: object) =>
      caller.call("PATCH", `${PATH}/${id}`, { body });

    test("changes the name alone, wherever it shows", async () => {
      const { json } = await issue(tenant, { scopes: ["email:read"] });
      const { key, missing_senders: _missing, ...shown } = json;
      const renamed = await rename(tenant, json.id, { name: "Shop, production" });
      expect(renamed).toMatchObject({ status: 200, json: { ...shown, name: "Shop, production" } });
      expect((await get(tenant, json.id)).text).toBe(renamed.text);
      const found = (await list(tenant)).json.data.find(({ id }: { id: string }) => id === json.id);
      expect(found).toEqual(renamed.json);
      expect(await opens(key)).toBe(200);
      const rotated = await tenant.call("POST", `${PATH}/${json.id}/rotate`);
      expect(rotated.json).toMatchObject({ name: "Shop, production", rotated_from: json.id });
      const entries = await tenant.call(
        "GET",
        `/api/v1/audit-log?target_id=${json.id}&action=api_key.renamed`,
      );
      expect(entries.json.data).toMatchObject([
        { actor: { id: tenant.keyId }, target: { type: "api_key", id: json.id, label: "Shop, production" } },
      ]);
    });

    test("takes the names that issuing takes, and finds no key of another workspace", async () => {
      const { json } = await issue(tenant);
      const other = await service.tenant({ sender: null });
      for (const body of [{ name: "" }, { name: "x".repeat(201) }, { name: "shop\u202e" }, {}]) {
        const refused = await rename(tenant, json.id, body);
        expectProblem(refused, 400, "INVALID_REQUEST");
        expect(refused.json.errors[0].pointer).toBe("/name");
      }
      for (const id of [UNKNOWN_ID, other.keyId])
        expectProblem(await rename(tenant, id, { name: "mine" }), 404, "NOT_FOUND");
      const reader = callerOf(service.url, (await issue(tenant, { scopes: ["email:read"] })).json.key);
      expectProblem(await rename(reader, json.id, { name: "mine" }), 403, "FORBIDDEN");
      expect((await get(tenant, json.id)).json.name).toBe("shop");
    });

    test("is limited in a day, so that the key stays quick to read, and a revocation is not", async () => {
      const { json } = await issue(tenant);
      for (let nth = 0; nth < RENAMES_PER_DAY_MAX; nth += 1)
        expect((await rename(tenant, json.id, { name: `name ${nth}` })).status).toBe(200);
      expectProblem(await rename(tenant, json.id, { name: "one more" }), 429, "RATE_LIMITED");
      expect((await revoke(tenant, json.id)).status).toBe(200);
    });

    test("is counted apart from rotations", async () => {
      const { json } = await issue(tenant);
      const rotate = async () => (await tenant.call("POST", `${PATH}/${json.id}/rotate`)).status;
      for (let nth = 0; nth < RENAMES_PER_DAY_MAX; nth += 1) expect(await rotate()).toBe(201);
      expect((await rename(tenant, json.id, { name: "Shop" })).status).toBe(200);
    });

    test("works on the command line", async () => {
      const { json } = await issue(tenant);
      const command = async (...words: readonly string[]) =>
        runCommand(["api-key", "rename", ...words], service.app.dataDir, store.env);
      expect(await command(json.id, "Shop 2")).toMatchObject({ exitCode: 0, out: `${json.id} renamed\n` });
      expect((await get(tenant, json.id)).json.name).toBe("Shop 2");
      const unknown = await command(UNKNOWN_ID, "Shop 2");
      expect(unknown.exitCode).toBe(1);
      expect(unknown.err).toContain(`there is no key ${UNKNOWN_ID}`);
      const byName = await command("Shop 2", "Shop 3");
      expect(byName.exitCode).toBe(1);
      expect(byName.err).toContain("there is no key Shop 2\na key is given by its id, not by its name: ");
      expect(byName.err).toContain("api-key list");
      const invisible = await command(json.id, " ");
      expect(invisible.exitCode).toBe(2);
      expect(invisible.err).toContain("the name must have visible characters");
    });
  });

  describe("of a person", () => {
    const PERSON = { person: "Ana Ortiz <Ana@Example.com>" };
    const person = "ana ortiz <ana@example.com>";

    test("is issued to nobody's hands, and is rotated to one that is the same person's", async () => {
      const { json } = await issue(tenant, PERSON);
      expect(json).toMatchObject({ key: null, person });
      const rotated = (await tenant.call("POST", `${PATH}/${json.id}/rotate`)).json;
      expect(rotated).toMatchObject({ key: null, person, rotated_from: json.id });
      const listed = (await list(tenant)).json.data;
      expect(listed[0]).toEqual((await get(tenant, rotated.id)).json);
      expect(listed[0].person).toBe(person);
      expect((await issue(tenant)).json.person).toBeNull();
    });

    test("is made, listed and rotated on the command line, where it has the person's name", async () => {
      const own = await service.tenant({ sender: null });
      const command = (...words: readonly string[]) =>
        runCommand(["api-key", ...words], service.app.dataDir, store.env);
      const whose = ["--workspace", own.workspaceId];
      const made = await command("create", ...whose, "--scopes", "email:read", "--person", PERSON.person);
      const id = made.out.split(" ")[0] ?? "";
      expect(made.out).toBe(`${id} issued: its person logs in with it by single sign-on\n`);
      expect((await get(own, id)).json).toMatchObject({ person, name: person, scopes: ["email:read"] });
      const rotated = JSON.parse((await command("rotate", id, "--json")).out);
      expect(rotated).toMatchObject({ key: null, rotated_from: id });
      await command("rename", id, "support");
      expect((await command("list", ...whose)).out).toContain(`  support (${person})  email:read`);
      const refused = await command("create", ...whose, "--all-scopes", "--person", "ana,ben");
      expect(refused).toMatchObject({ exitCode: 2 });
      expect(refused.err).toContain(
        "--person must name one person, such as ana@example.com, in 1 to 320 printable",
      );
    });
  });

  describe("revoking", () => {
    test("shuts the key out at once on this instance, and a repeat is no error", async () => {
      const { json } = await issue(tenant, { scopes: ["email:read"] });
      expect(await opens(json.key)).toBe(200);
      const revoked = await revoke(tenant, json.id);
      expect(revoked.status).toBe(200);
      const { key: _key, last_used_at: _unused, missing_senders: _missing, ...shown } = json;
      expect(revoked.json).toEqual({ ...shown, status: "revoked", last_used_at: expect.any(String) });
      expect(await opens(json.key)).toBe(401);
      expect((await revoke(tenant, json.id)).text).toBe(revoked.text);
      expect(await service.log.store.read(apiKeyStream(json.id), 0, 10)).toHaveLength(2);
      expect((await get(tenant, json.id)).text).toBe(revoked.text);
    });

    test("works on the key that asks for it", async () => {
      const own = await service.tenant({ sender: null });
      const self = await own.withKey({});
      expect((await revoke(self, self.keyId)).json).toMatchObject({ id: self.keyId, status: "revoked" });
      expectProblem(await self.call("GET", PATH), 401, "UNAUTHORIZED");
      expect((await list(own)).status).toBe(200);
    });

    test("finds no key that is unknown or another workspace's, and refuses what is no key id", async () => {
      const other = await service.tenant({ sender: null });
      for (const id of [UNKNOWN_ID, other.keyId]) {
        expectProblem(await revoke(tenant, id), 404, "NOT_FOUND");
        expectProblem(await get(tenant, id), 404, "NOT_FOUND");
      }
      for (const id of [crypto.randomUUID(), "a", "x".repeat(5_000), "..%2F..", "%00"]) {
        expectProblem(await revoke(tenant, id), 400, "INVALID_REQUEST");
        expectProblem(await get(tenant, id), 400, "INVALID_REQUEST");
      }
      expect((await list(other)).status).toBe(200);
    });
  });

  describe("what a key has issued", () => {
    const chain = async (own: Tenant) => {
      const scopes = ["workspace:manage", "email:read"];
      const first = (await issue(own, { scopes })).json;
      const second = (await issue(callerOf(service.url, first.key), { scopes })).json;
      const third = (await issue(callerOf(service.url, second.key), { scopes })).json;
      return [first, second, third] as const;
    };

    test("says by whom, and stays when that is revoked", async () => {
      const own = await service.tenant({ sender: null });
      const [first, second, third] = await chain(own);
      expect([first, second, third].map(({ issued_by }) => issued_by)).toEqual([
        own.keyId,
        first.id,
        second.id,
      ]);
      expect((await get(own, own.keyId)).json.issued_by).toBeNull();
      await revoke(own, first.id);
      expect(await opens(second.key)).toBe(200);
      const listed = (await list(own)).json.data.find(({ id }: { id: string }) => id === third.id);
      expect(listed).toMatchObject({ issued_by: second.id, status: "active" });
    });

    test("is named by the command line, with who issued it and with what ends it", async () => {
      const own = await service.tenant({ sender: null });
      const [first, second, third] = await chain(own);
      const run = (...words: readonly string[]) =>
        runCommand(["api-key", ...words], service.app.dataDir, store.env);
      const listed = (await run("list", "--workspace", own.workspaceId, "--json")).json;
      const issuers = listed.map(({ issued_by }: { readonly issued_by: string | null }) => issued_by);
      expect(issuers).toEqual([null, own.keyId, first.id, second.id]);
      expect((await run("list", "--workspace", own.workspaceId)).out).toContain(`  issued by ${second.id}\n`);
      const { out } = await run("revoke", first.id);
      expect(out).toContain(`${second.id} came of it and still works: `);
      expect(out).toContain(`${third.id} came of it and still works: `);
      expect(out).toContain(`api-key revoke ${first.id} --with-children\n`);
      expect((await run("revoke", first.id, "--with-children")).out).toContain(`${third.id} revoked\n`);
      expect((await run("revoke", first.id, "--json")).json).toMatchObject({ active_children: [] });
    });

    test("goes with it where that is asked for, to the last, and nothing else does", async () => {
      const own = await service.tenant({ sender: null });
      const [first, second, third] = await chain(own);
      const other = (await issue(own, { scopes: ["email:read"] })).json;
      const rotated = (await callerOf(service.url, third.key).call("POST", `${PATH}/${third.id}/rotate`))
        .json;
      const body = { with_children: true };
      const answer = await own.call("POST", `${PATH}/${first.id}/revoke`, { body });
      expect(answer.json).toMatchObject({ id: first.id, status: "revoked" });
      for (const { key } of [first, second, third, rotated]) expect(await opens(key)).toBe(401);
      expect(await opens(other.key)).toBe(200);
      expect((await list(own)).status).toBe(200);
      expect((await own.call("POST", `${PATH}/${first.id}/revoke`, { body })).text).toBe(answer.text);
    });

    test("of another workspace stays, whatever is asked for", async () => {
      const [own, other] = [await service.tenant({ sender: null }), await service.tenant({ sender: null })];
      const [first, second] = await chain(own);
      const body = { with_children: true };
      expectProblem(await other.call("POST", `${PATH}/${first.id}/revoke`, { body }), 404, "NOT_FOUND");
      expect([await opens(first.key), await opens(second.key)]).toEqual([200, 200]);
    });
  });

  describe("rotating", () => {
    const rotate = (caller: Caller, id: string, body?: object) =>
      caller.call("POST", `${PATH}/${id}/rotate`, body === undefined ? {} : { body });

    test("gives a key that may do the same, and lets the old one end after the overlap", async () => {
      const own = await service.tenant();
      const bound = { scopes: ["email:read"], senders: ["shop.example"], client_ranges: ["127.0.0.0/8"] };
      const old = (await issue(own, bound)).json;
      const answer = await rotate(own, old.id, { overlap_seconds: 1 });
      expect(answer.status).toBe(201);
      const { key, ...fresh } = answer.json;
      expect(fresh).toMatchObject({
        ...bound,
        name: old.name,
        rotated_from: old.id,
        issued_by: own.keyId,
        expires_at: null,
      });
      expect(answer.headers.get("location")).toBe(`${PATH}/${fresh.id}`);
      const ending = (await get(own, old.id)).json;
      expect(Date.parse(ending.expires_at)).toBeLessThan(Date.now() + 1_001);
      expect(await opens(key)).toBe(200);
      await until(async () => (await opens(old.key)) === 401, "the old key to expire");
      expect(await opens(key)).toBe(200);
      expectProblem(await rotate(own, old.id), 409, "API_KEY_NOT_ACTIVE");
    });

    test("works for another day by default, and never longer than the key would have", async () => {
      const own = await service.tenant({ sender: null });
      const old = (await issue(own)).json;
      await rotate(own, old.id);
      const day = Date.parse((await get(own, old.id)).json.expires_at) - Date.now();
      expect(day).toBeWithin(24 * HOUR_MS - 60_000, 24 * HOUR_MS + 1);
      const shortLived = (await issue(own, { expires_at: fromNow(HOUR_MS) })).json;
      const next = (await rotate(own, shortLived.id, {})).json;
      expect(next.expires_at).toBe(shortLived.expires_at);
      expect((await get(own, shortLived.id)).json.expires_at).toBe(shortLived.expires_at);
    });

    test("is for a key itself, and not for one that holds less", async () => {
      const own = await service.tenant();
      const weak = await own.withKey({ scopes: ["workspace:manage"] });
      const strong = (await issue(own, { scopes: ["email:send", "workspace:manage"] })).json;
      expectProblem(await rotate(weak, strong.id), 403, "FORBIDDEN");
      expect((await get(own, strong.id)).json.expires_at).toBeNull();
      const next = await rotate(callerOf(service.url, strong.key), strong.id, { overlap_seconds: 0 });
      expect(next.status).toBe(201);
      expect(await opens(strong.key)).toBe(401);
      expect(await opens(next.json.key, PATH)).toBe(200);
      const other = await service.tenant({ sender: null });
      expectProblem(await rotate(other, next.json.id), 404, "NOT_FOUND");
      for (const overlap_seconds of [-1, 0.5, 2_592_001, "1"])
        expectProblem(await rotate(own, next.json.id, { overlap_seconds }), 400, "INVALID_REQUEST");
    });
  });

  describe("a key's last use", () => {
    const hourOf = (text: string) => Date.parse(text) / HOUR_MS;
    test("shows at once, to the hour, and survives a restart", async () => {
      const own = await service.tenant({ sender: null });
      const used = (await issue(own, { scopes: ["email:read"] })).json;
      expect(used.last_used_at).toBeNull();
      const before = Math.floor(Date.now() / HOUR_MS);
      for (const _ of [1, 2, 3]) await opens(used.key);
      const shown = (await get(own, used.id)).json.last_used_at;
      expect(hourOf(shown)).toBeWithin(before, before + 2);
      await service.restart();
      expect((await list(own)).json.data.find(({ id }: { id: string }) => id === used.id).last_used_at).toBe(
        shown,
      );
      expect((await get(own, used.id)).json.last_used_at).toBe(shown);
      await opens(used.key);
      await service.restart();
      // One event for an hour, unless another one began meanwhile.
      const events = await service.log.store.read(apiKeyUseStream(used.id), 0, 10);
      const hours = events.map(({ data }) => (data as { hour: string }).hour);
      expect(new Set(hours).size).toBe(hours.length);
      expect(events.length).toBeWithin(1, 3);
    });

    test("is nothing that a wrong secret or a revoked key leaves", async () => {
      const own = await service.tenant({ sender: null });
      const { id, key } = (await issue(own, { scopes: ["email:read"] })).json;
      await revoke(own, id);
      await opens(key);
      await opens(`${key.slice(0, -1)}x`);
      expect((await get(own, id)).json.last_used_at).toBeNull();
    });
  });

  describe("a key that is bound to senders", () => {
    const send = (caller: Caller, from: string) => caller.send(newKey(), message({ from }));

    test("sends from those alone, and moves, cancels and erases their messages alone", async () => {
      const own = await service.tenant({ sender: "shop@one.example" });
      const scopes = ["email:send", "email:read"];
      for (const senders of [["Shop@ONE.example"], ["one.example"]]) {
        const { key, senders: shownSenders } = (await issue(own, { scopes, senders })).json;
        expect(shownSenders).toEqual([senders[0]?.toLowerCase()]);
        expect((await send(callerOf(service.url, key), "Shop@one.example")).status).toBe(202);
      }
      const { key } = (await issue(own, { scopes, senders: ["two.example", "a@one.example"] })).json;
      const bound = callerOf(service.url, key);
      for (const from of ["shop@one.example", "a@sub.two.example", "xtwo.example@one.example"]) {
        const refused = await send(bound, from);
        expectProblem(refused, 403, "FORBIDDEN");
        expect(refused.json.detail).toContain("two.example");
      }
      const { id } = (await send(own, "shop@one.example")).json;
      const later = { body: { scheduled_at: new Date(Date.now() + 60_000).toISOString() } };
      expectProblem(await bound.call("POST", `/api/v1/emails/${id}/reschedule`, later), 403, "FORBIDDEN");
      expectProblem(await bound.call("POST", `/api/v1/emails/${id}/cancel`), 403, "FORBIDDEN");
      expectProblem(await bound.call("DELETE", `/api/v1/emails/${id}/content`), 403, "FORBIDDEN");
      expect((await bound.call("GET", `/api/v1/emails/${id}`)).json.status).toBe("queued");
      const free = callerOf(service.url, (await issue(own, { scopes })).json.key);
      expect((await free.call("POST", `/api/v1/emails/${id}/cancel`)).json.status).toBe("canceled");
    });

    test("reaches its messages when their content is erased, and no others", async () => {
      const own = await service.tenant({ sender: "shop@one.example" });
      const scopes = ["email:send", "email:read", "feedback:write"];
      const keyOf = async (senders: readonly string[]) =>
        callerOf(service.url, (await issue(own, { scopes, senders })).json.key);
      const stranger = await keyOf(["two.example", "a@one.example", "sub.one.example"]);
      const name = { kind: "domain", domain: "net.example" } as const;
      const context = { ...systemCommandContext("test"), workspaceId: own.workspaceId };
      const domain = await newSender(service.log, { workspaceId: own.workspaceId, name }, context);
      await markVerified(service.log, domain?.id ?? "", "operator", context);
      for (const [sender, from] of [
        ["shop@one.example", "shop@one.example"],
        ["one.example", "shop@one.example"],
        ["any@net.example", "any@net.example"],
        ["net.example", "any@net.example"],
      ] as const) {
        const bound = await keyOf([sender]);
        const body = message({ from, content_retention: "until_final_status" });
        const { id } = (await bound.send(newKey(), body)).json;
        const cancel = (as: Caller) => as.call("POST", `/api/v1/emails/${id}/cancel`);
        const report = (as: Caller) =>
          as.call("POST", "/api/v1/feedback", { body: { email_id: id, type: "complained" } });
        const again = (as: Caller) =>
          as.call("POST", `/api/v1/emails/${id}/send-again`, {
            headers: { "idempotency-key": "again-0001" },
          });
        const first = await again(bound);
        expect(first.status).toBe(202);
        for (const nth of [1, 2]) {
          const { status, json } = await cancel(bound);
          expect({ nth, status, ended: json.status, erased: json.content_erased }).toEqual({
            ...{ nth, status: 200, ended: "canceled", erased: true },
          });
        }
        expect((await again(bound)).text).toBe(first.text);
        expect((await report(bound)).status).toBe(200);
        for (const refused of [cancel, report, again])
          expectProblem(await refused(stranger), 403, "FORBIDDEN");
      }
    });

    test("names the senders that the workspace lacks, which is no error", async () => {
      const own = await service.tenant({ sender: "shop@one.example" });
      const senders = ["Shop@one.example", "ann@two.example", "one.example"];
      const { status, json } = await issue(own, { scopes: ["email:send"], senders });
      expect(status).toBe(201);
      expect(json.missing_senders).toEqual(["ann@two.example", "one.example"]);
      const rotated = await own.call("POST", `/api/v1/api-keys/${json.id}/rotate`);
      expect(rotated.json.missing_senders).toEqual(json.missing_senders);
      expect((await issue(own, { scopes: ["email:send"] })).json.missing_senders).toEqual([]);
      // Only the answer with the key has it: senders come and go.
      expect((await get(own, json.id)).json).not.toHaveProperty("missing_senders");
    });

    test("issues and rotates none that is bound to less", async () => {
      const own = await service.tenant({ sender: null });
      const scopes = ["workspace:manage", "email:send"];
      const bound = { scopes, senders: ["one.example"], client_ranges: ["127.0.0.0/8", "::1"] };
      const issuer = callerOf(service.url, (await issue(own, bound)).json.key);
      const { client_ranges } = bound;
      for (const parts of [
        {},
        { senders: null, client_ranges },
        { senders: ["one.example"] },
        { senders: ["a@two.example"], client_ranges },
        { senders: ["one.example", "sub.one.example"], client_ranges },
        { senders: ["one.example"], client_ranges: ["126.0.0.0/7"] },
        { senders: ["one.example"], client_ranges: ["::/0"] },
      ])
        expectProblem(await issue(issuer, { scopes: ["email:send"], ...parts }), 403, "FORBIDDEN");
      const narrower = { senders: ["a@one.example"], client_ranges: ["127.0.0.1"] };
      expect((await issue(issuer, { scopes: ["email:send"], ...narrower })).json).toMatchObject(narrower);
    });

    test.each([
      [{ senders: [] }, "/senders"],
      [{ senders: ["nothing of the kind"] }, "/senders/0"],
      [{ senders: ["one.example", "a b@one.example"] }, "/senders/1"],
      [{ client_ranges: ["10.0.0.0/33"] }, "/client_ranges/0"],
      [{ client_ranges: ["127.1"] }, "/client_ranges/0"],
      [{ client_ranges: "127.0.0.1" }, "/client_ranges"],
    ])("is refused with %j", async (parts, pointer) => {
      const answer = await issue(tenant, parts);
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors[0].pointer).toStartWith(pointer);
    });
  });

  test("that are bound to client addresses are accepted from those alone, behind trusted proxies too", async () => {
    const own = await service.tenant({ sender: null });
    const scopes = ["email:read"];
    const from = (key: string, forwardedFor: string) =>
      callerOf(service.url, key).call("GET", "/api/v1/emails", {
        headers: { "x-forwarded-for": forwardedFor },
      });
    const { key } = (await issue(own, { scopes, client_ranges: ["192.0.2.0/24", "2001:db8::/32"] })).json;
    for (const address of ["192.0.2.9", "2001:db8::1", "198.51.100.1, 192.0.2.255", "::ffff:192.0.2.1"])
      expect((await from(key, address)).status).toBe(200);
    for (const address of ["198.51.100.1", "192.0.2.9, 198.51.100.1", "nonsense", "2001:db9::1"])
      expectProblem(await from(key, address), 403, "FORBIDDEN");
    expectProblem(await callerOf(service.url, key).call("GET", "/api/v1/emails"), 403, "FORBIDDEN");
    const local = (await issue(own, { scopes, client_ranges: ["127.0.0.1", "::1"] })).json.key;
    expect(await opens(local)).toBe(200);
    expectProblem(await from(local, "192.0.2.9"), 403, "FORBIDDEN");
  });

  test("are bounded: no more than a thousand are active, and a revoked one makes room", async () => {
    const own = await service.tenant({ sender: null });
    const issueOne = () =>
      issueKey(
        service.log,
        { workspaceId: own.workspaceId, name: "many", scopes: ["email:read"], expiresAt: null },
        systemCommandContext("test"),
      );
    for (let issued = 1; issued < ACTIVE_KEYS_MAX; issued += 111)
      await Promise.all(Array.from({ length: 111 }, issueOne));
    const { json } = await list(own, "?limit=1");
    expectProblem(await issue(own), 409, "API_KEY_LIMIT_REACHED");
    const rotated = await own.call("POST", `/api/v1/api-keys/${json.data[0].id}/rotate`);
    expectProblem(rotated, 409, "API_KEY_LIMIT_REACHED");
    await revoke(own, json.data[0].id);
    await list(own, "?limit=1");
    expect((await issue(own)).status).toBe(201);
  }, 60_000);
});
