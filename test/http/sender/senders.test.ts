import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newSender } from "../../../src/commands/sender/manageSender.ts";
import { senderStream } from "../../../src/domain/sender/events.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { type DnsAnswer, type NameServer, startNameServer } from "../../support/servers/nameServer.ts";
import { testStores } from "../../support/stores/stores.ts";
import {
  message,
  newKey,
  SENDER,
  startService,
  type Tenant,
  type TestService,
} from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/senders";
const SENDER_ID = /^[0-9a-f]{64}$/;
const LOOKUPS_MAX = 60;
const SENDERS_MAX = 1_000;

describe.each(await testStores())("senders on $name", (store) => {
  let service: TestService;
  let dns: NameServer;
  /** What the name server says of TXT records, by name. */
  const zone = new Map<string, DnsAnswer>();
  let tenant: Tenant;
  beforeAll(async () => {
    dns = await startNameServer((name, type) => (type === "TXT" && zone.get(name)) || "nxdomain");
    service = await startService(store, { DNS_SERVERS: dns.address, DOMAIN_RECHECK_INTERVAL_MS: "100" });
    tenant = await service.tenant({ sender: null });
  });
  afterAll(async () => {
    await service.remove();
    dns.stop();
  });

  const add = async (body: object, as: Tenant = tenant) => {
    const answer = await as.call("POST", PATH, { body });
    expect(answer.status).toBe(201);
    return answer.json;
  };
  const switchTo = (id: string, to: "enable" | "disable", as: Tenant = tenant) =>
    as.call("POST", `${PATH}/${id}/${to}`);
  const verifyByDns = (id: string, as: Tenant = tenant) =>
    as.call("POST", `${PATH}/${id}/verification`, { body: { method: "dns" } });
  /** A domain whose owner has published what was asked for. */
  const verifiedDomain = async (domain: string, as: Tenant) => {
    const sender = await add({ domain }, as);
    zone.set(sender.dns_record.name, [[sender.dns_record.value]]);
    expect((await verifyByDns(sender.id, as)).json.status).toBe("verified");
    return sender;
  };
  const sendFrom = (from: string, as: Tenant) => as.send(newKey(), message({ from }));

  test("a verified domain whose record disappears is reported, keeps sending, and is fine once the record is back", async () => {
    const own = await service.tenant({ sender: null });
    const sender = await verifiedDomain(`${newKey()}.example`, own);
    const read = async () => (await own.call("GET", `${PATH}/${sender.id}`)).json;
    const queryCount = () =>
      dns.questions.filter((question) => question.endsWith(sender.dns_record.name)).length;
    // Name servers that do not answer say nothing of the record.
    zone.set(sender.dns_record.name, "servfail");
    const before = queryCount();
    await until(() => queryCount() > before + 2, "the record to be looked up again");
    expect((await read()).record_missing_since).toBeNull();
    zone.set(sender.dns_record.name, [["v=spf1 -all"]]);
    await until(
      async () => (await read()).record_missing_since !== null,
      "the loss of the record to be recorded",
    );
    const missing = await read();
    expect(missing.status).toBe("verified");
    expect((await sendFrom(`me@${sender.domain}`, own)).status).toBe(202);
    const seen = queryCount();
    await until(() => queryCount() > seen + 1, "another check");
    expect((await read()).record_missing_since).toBe(missing.record_missing_since);
    zone.set(sender.dns_record.name, [[sender.dns_record.value]]);
    await until(async () => (await read()).record_missing_since === null, "the record to be found");
    const events = await service.log.store.read(senderStream(sender.id), 0, 10);
    expect(events.map(({ type }) => type).slice(-2)).toEqual(["SenderRecordMissing", "SenderRecordFound"]);
  });

  describe("adding", () => {
    test("an address answers 201 with its location and all fields", async () => {
      const body = { address: "Shop@Example.COM", display_name: "The Shop" };
      const answer = await tenant.call("POST", PATH, { body });
      expect(answer.status).toBe(201);
      expect(answer.json.id).toMatch(SENDER_ID);
      expect(answer.json).toEqual({
        id: answer.json.id,
        object: "sender",
        kind: "address",
        address: "Shop@example.com",
        domain: null,
        display_name: "The Shop",
        status: "unverified",
        verified_by: null,
        record_missing_since: null,
        verification: null,
        dns_record: null,
        created_at: answer.json.created_at,
        updated_at: answer.json.created_at,
      });
      const location = answer.headers.get("location");
      expect(location).toBe(`${PATH}/${answer.json.id}`);
      expect((await tenant.call("GET", location ?? "")).json).toEqual(answer.json);
    });

    test("a value that is more than an address or a domain is answered with where the rest goes, or what is expected", async () => {
      const detailOf = async (body: object) => (await tenant.call("POST", PATH, { body })).json.detail;
      expect(await detailOf({ address: "Shop <shop@example.com>" })).toBe(
        "/address: must be one bare address such as ana@example.com: the name goes into display_name",
      );
      expect(await detailOf({ domain: "https://shop.example.com" })).toContain("such as example.com");
    });

    test("a domain answers the record that it is to publish", async () => {
      const { id, created_at, ...sender } = await add({ domain: "BÜCHER.example" });
      expect(id).toMatch(SENDER_ID);
      expect(sender).toEqual({
        object: "sender",
        kind: "domain",
        address: null,
        domain: "xn--bcher-kva.example",
        display_name: null,
        status: "unverified",
        verified_by: null,
        record_missing_since: null,
        verification: null,
        dns_record: {
          type: "TXT",
          name: "_postledger.xn--bcher-kva.example",
          value: expect.stringMatching(/^postledger-verification=[0-9a-f]{64}$/),
        },
        updated_at: created_at,
      });
    });

    test("again, in any spelling, answers 200 with the one that is there", async () => {
      const first = await add({ address: "again@example.com", display_name: "First" });
      const repeat = await tenant.call("POST", PATH, { body: { address: "AGAIN@EXAMPLE.com" } });
      expect(repeat.status).toBe(200);
      expect(repeat.json).toEqual(first);
      expect(repeat.headers.get("location")).toBe(`${PATH}/${first.id}`);
      const domain = await add({ domain: "again.example" });
      expect((await tenant.call("POST", PATH, { body: { domain: "Again.Example" } })).json).toEqual(domain);
    });

    test("a domain's display name stands beside its addresses that have none of their own", async () => {
      const own = await service.tenant({ sender: null });
      const domain = await add({ domain: "named.example", display_name: "The Shop" }, own);
      expect(domain).toMatchObject({ kind: "domain", display_name: "The Shop" });
      zone.set(domain.dns_record.name, [[domain.dns_record.value]]);
      expect((await verifyByDns(domain.id, own)).json.status).toBe("verified");
      await add({ address: "bills@named.example", display_name: "Bills" }, own);
      const nameOf = async (from: string) => {
        const { id } = (await sendFrom(from, own)).json;
        return (await own.call("GET", `/api/v1/emails/${id}`)).json.from_name;
      };
      expect(await nameOf("orders@named.example")).toBe("The Shop");
      expect(await nameOf("bills@named.example")).toBe("Bills");
      const repeat = { domain: "named.example", display_name: null };
      expect((await own.call("POST", PATH, { body: repeat })).json.display_name).toBeNull();
      expect(await nameOf("orders@named.example")).toBeNull();
    });

    test("again with another display name gives it that one, and nothing else", async () => {
      const own = await service.tenant({ sender: null });
      const { id } = await add({ address: SENDER, display_name: "First" }, own);
      await service.addSenderEvent(own.workspaceId, SENDER, {
        type: "SenderVerified",
        data: { method: "operator" },
      });
      const name = async (display_name: string | null) =>
        (await own.call("POST", PATH, { body: { address: SENDER, display_name } })).json;
      expect(await name("Second")).toMatchObject({ id, display_name: "Second", status: "verified" });
      expect(await name("Second")).toEqual(await name("Second"));
      const sent = (await sendFrom(SENDER, own)).json;
      const [stored] = await service.log.store.read(`email-${sent.id}`, 0, 1);
      expect(stored?.data).toMatchObject({ content: { fromName: "Second" } });
      expect(await name(null)).toMatchObject({ id, display_name: null, status: "verified" });
      expect((await own.call("GET", `${PATH}/${id}`)).json.display_name).toBeNull();
      const events = await service.log.store.read(senderStream(id), 0, 100);
      const renames = events.filter(({ type }) => type === "SenderRenamed");
      expect(renames.map(({ data }) => data)).toEqual([{ displayName: "Second" }, {}]);
      const { data } = (await own.call("GET", "/api/v1/audit-log")).json;
      expect(data.find(({ action }: { action: string }) => action === "sender.renamed")).toMatchObject({
        target: { id },
        details: { display_name: null },
      });
    });

    test("beyond 1,000 is refused, and says so; those that are there can still be changed", async () => {
      const full = await service.tenant({ sender: null });
      const { workspaceId } = full;
      const context = { ...systemCommandContext("test"), workspaceId };
      for (let from = 0; from < SENDERS_MAX - 2; from += 100) {
        const some = Array.from({ length: Math.min(100, SENDERS_MAX - 2 - from) }, (_, index) => {
          const name = { kind: "domain", domain: `s${from + index}.example` } as const;
          return newSender(service.log, { workspaceId, name }, context);
        });
        await Promise.all(some);
      }
      const attempts = Array.from({ length: 5 }, (_, index) =>
        full.call("POST", PATH, { body: { address: `one-more-${index}@example.com` } }),
      );
      const answers = await Promise.all(attempts);
      expect(answers.map(({ status, json }) => `${status} ${json.code}`).toSorted()).toEqual([
        ...Array.from({ length: 2 }, () => "201 undefined"),
        ...Array.from({ length: 3 }, () => "409 SENDER_LIMIT_REACHED"),
      ]);
      const { status } = await full.call("POST", PATH, { body: { domain: "s0.example" } });
      expect(status).toBe(200);
    }, 60_000);

    test("by 16 at once makes one", async () => {
      const body = { address: "race@example.com" };
      const answers = await Promise.all(
        Array.from({ length: 16 }, () => tenant.call("POST", PATH, { body })),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    });

    test("an address and its domain are two senders, and another workspace's are its own", async () => {
      const other = await service.tenant({ sender: null });
      const body = { domain: "two.example" };
      const [domain, address] = [await add(body), await add({ address: "me@two.example" })];
      const others = await add(body, other);
      expect(new Set([domain.id, address.id, others.id]).size).toBe(3);
      expect(others.dns_record.value).not.toBe(domain.dns_record.value);
      expect(others.dns_record.name).toBe(domain.dns_record.name);
    });

    const bad: readonly [string, object, string][] = [
      ["neither address nor domain", {}, ""],
      ["both", { address: "a@example.com", domain: "example.com" }, ""],
      ["no address", { address: "example.com" }, "/address"],
      ["two addresses", { address: "a@example.com, b@example.com" }, "/address"],
      ["an address with a line break", { address: "a@example.com\r\nBcc: b@example.com" }, "/address"],
      ["an address of 321 characters", { address: `${"a".repeat(309)}@example.com` }, "/address"],
      ["a domain that is an address", { domain: "a@example.com" }, "/domain"],
      ["a domain of one label", { domain: "localhost" }, "/domain"],
      ["a domain that is an IP address", { domain: "192.0.2.1" }, "/domain"],
      ["a domain with a path", { domain: "example.com/x" }, "/domain"],
      ["a domain without room for the record's name", { domain: `${"a.".repeat(118)}example` }, "/domain"],
      [
        "a display name of 201 characters",
        { address: "a@example.com", display_name: "é".repeat(201) },
        "/display_name",
      ],
      ["a display name that is empty", { address: "a@example.com", display_name: "" }, "/display_name"],
      ["a display name of blanks", { address: "a@example.com", display_name: "  " }, "/display_name"],
      [
        "a display name with a line break",
        { address: "a@example.com", display_name: "a\r\nBcc: b" },
        "/display_name",
      ],
      ["a display name with a NUL", { address: "a@example.com", display_name: "a\u0000" }, "/display_name"],
      [
        "a display name that turns text round",
        { address: "a@example.com", display_name: "a\u202eb" },
        "/display_name",
      ],
      [
        "a display name with a character that cannot be seen",
        { address: "a@example.com", display_name: "Pay\u200bPal" },
        "/display_name",
      ],
      [
        "a display name of nothing that can be seen",
        { address: "a@example.com", display_name: "\u200b" },
        "/display_name",
      ],
      ["an unknown field", { address: "a@example.com", verified: true }, "/verified"],
    ];
    for (const [what, body, pointer] of bad) {
      test(`${what} is INVALID_REQUEST at ${pointer || "the body"}`, async () => {
        const answer = await tenant.call("POST", PATH, { body });
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.errors[0].pointer).toBe(pointer);
      });
    }

    test("faults from the schema and from the rules across fields are reported together", async () => {
      const body = { address: "a", domain: "example.com", display_name: "\u200b", verified: true };
      const { json } = await tenant.call("POST", PATH, { body });
      const pointers = json.errors.map(({ pointer }: { pointer: string }) => pointer);
      expect(pointers.toSorted()).toEqual(["", "/address", "/display_name", "/verified"]);
    });

    test("a display name of an emoji that is joined of several is taken", async () => {
      const display_name = "\u{1f469}\u200d\u{1f4bb}";
      const { json } = await tenant.call("POST", PATH, {
        body: { address: "coder@example.com", display_name },
      });
      expect(json.display_name).toBe(display_name);
    });

    test("a display name of 200 characters, emoji among them, is taken and stands in what is sent", async () => {
      const own = await service.tenant({ sender: null });
      const display_name = "🎩".repeat(200);
      await add({ address: SENDER, display_name }, own);
      await service.addSenderEvent(own.workspaceId, SENDER, {
        type: "SenderVerified",
        data: { method: "operator" },
      });
      await until(async () => (await sendFrom(SENDER, own)).status === 202, "the sender to be verified");
      const { json } = await own.send(newKey(), message());
      const [stored] = await service.log.store.read(`email-${json.id}`, 0, 1);
      expect(stored?.data).toMatchObject({ content: { fromName: display_name } });
    });
  });

  describe("reading", () => {
    test("lists newest first, over all pages, and nobody else's", async () => {
      const [own, other] = [await service.tenant({ sender: null }), await service.tenant({ sender: null })];
      await add({ address: "other@example.com" }, other);
      const added: unknown[] = [];
      for (let index = 0; index < 5; index += 1)
        added.unshift(await add({ address: `a${index}@example.com` }, own));
      added.unshift(await add({ domain: "list.example" }, own));
      const all = (await own.call("GET", PATH)).json;
      expect(all.data).toEqual(added);
      expect(all.next_cursor).toBeNull();
      const paged: unknown[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const { json } = await own.call("GET", `${PATH}?limit=2${cursor && `&cursor=${cursor}`}`);
        paged.push(...json.data);
        cursor = json.next_cursor;
      }
      expect(paged).toEqual(all.data);
    });

    test("a cursor of another list, a limit of 101 and an unknown parameter are INVALID_REQUEST", async () => {
      const cursor = Buffer.from(JSON.stringify(["2030-01-01T00:00:00.000Z", crypto.randomUUID()])).toString(
        "base64url",
      );
      for (const query of [`cursor=${cursor}`, "cursor=x", "limit=101", "limit=0", "status=verified"]) {
        expectProblem(await tenant.call("GET", `${PATH}?${query}`), 400, "INVALID_REQUEST");
      }
    });

    test("what is unknown or another workspace's is NOT_FOUND, and what is no id INVALID_REQUEST", async () => {
      const other = await service.tenant({ sender: null });
      const { id } = await add({ address: "mine@example.com" });
      const unknown = id.replace(/^./, id.startsWith("0") ? "1" : "0");
      expectProblem(await tenant.call("GET", `${PATH}/${unknown}`), 404, "NOT_FOUND");
      for (const wrong of ["x", crypto.randomUUID(), id.replace(/.$/, "A")])
        expectProblem(await tenant.call("GET", `${PATH}/${wrong}`), 400, "INVALID_REQUEST");
      const body = { method: "email" };
      expectProblem(await other.call("GET", `${PATH}/${id}`), 404, "NOT_FOUND");
      expectProblem(await other.call("POST", `${PATH}/${id}/verification`, { body }), 404, "NOT_FOUND");
      expectProblem(await switchTo(id, "disable", other), 404, "NOT_FOUND");
      expectProblem(await switchTo(id, "enable", other), 404, "NOT_FOUND");
      expect((await tenant.call("GET", `${PATH}/${id}`)).json.status).toBe("unverified");
    });
  });

  describe("disabling and enabling", () => {
    test("shows, stops sending, and repeats change nothing", async () => {
      const own = await service.tenant();
      const [{ id }] = (await own.call("GET", PATH)).json.data;
      const disabled = await switchTo(id, "disable", own);
      expect(disabled.status).toBe(200);
      expect(disabled.json).toMatchObject({ status: "disabled", verified_by: "operator" });
      expect(Date.parse(disabled.json.updated_at)).toBeGreaterThanOrEqual(
        Date.parse(disabled.json.created_at),
      );
      expect((await switchTo(id, "disable", own)).json).toEqual(disabled.json);
      expectProblem(await sendFrom(SENDER, own), 422, "SENDER_UNAVAILABLE");
      expect((await switchTo(id, "enable", own)).json).toMatchObject({ status: "verified" });
      expect((await switchTo(id, "enable", own)).json).toMatchObject({ status: "verified" });
      expect((await sendFrom(SENDER, own)).status).toBe(202);
      const events = await service.log.store.read(senderStream(id), 0, 100);
      expect(events.map(({ type }) => type)).toEqual([
        "SenderAdded",
        "SenderVerified",
        "SenderDisabled",
        "SenderEnabled",
      ]);
    });

    test("enabling does not verify", async () => {
      const { id } = await add({ address: "never@example.com" });
      await switchTo(id, "disable");
      expect((await switchTo(id, "enable")).json.status).toBe("unverified");
      expectProblem(await sendFrom("never@example.com", tenant), 422, "SENDER_UNAVAILABLE");
    });
  });

  describe("a domain", () => {
    test("is verified by its record, once, and then every address at exactly it can send", async () => {
      const own = await service.tenant({ sender: null });
      const { id, dns_record } = await add({ domain: "shop.example" }, own);
      expectProblem(await sendFrom("any@shop.example", own), 422, "SENDER_UNAVAILABLE");
      expectProblem(await verifyByDns(id, own), 422, "SENDER_VERIFICATION_FAILED");
      zone.set(dns_record.name, [["v=spf1 -all"], [dns_record.value], ["other"]]);
      const verified = await verifyByDns(id, own);
      expect(verified.status).toBe(200);
      expect(verified.json).toMatchObject({ status: "verified", verified_by: "dns", dns_record });
      // What is verified is not looked for again.
      const queryCount = () => dns.questions.filter((question) => question.endsWith(dns_record.name)).length;
      const before = queryCount();
      expect((await verifyByDns(id, own)).json).toEqual(verified.json);
      expect(queryCount()).toBe(before);
      expect((await sendFrom("Any@Shop.example", own)).status).toBe(202);
      for (const from of ["any@sub.shop.example", "any@op.example", "any@xshop.example", "any@example"]) {
        expect((await sendFrom(from, own)).status).not.toBe(202);
      }
      expectProblem(await sendFrom("any@shop.example", tenant), 422, "SENDER_UNAVAILABLE");
    });

    const refusals: readonly [string, (value: string) => DnsAnswer][] = [
      ["no name", () => "nxdomain"],
      ["no record", () => []],
      ["another value", (value) => [[value.replace(/.$/, (last) => (last === "0" ? "1" : "0"))]]],
      ["the value in upper case", (value) => [[value.toUpperCase()]]],
      ["the value with something behind it", (value) => [[`${value}0`]]],
      ["the value with something before it", (value) => [[` ${value}`]]],
      ["all of the value but its end", (value) => [[value.slice(0, -1)]]],
      ["the proof alone", (value) => [[value.slice(value.indexOf("=") + 1)]]],
    ];
    for (const [what, records] of refusals) {
      test(`with ${what} is SENDER_VERIFICATION_FAILED, which says what was expected`, async () => {
        const { id, dns_record } = await add({ domain: `${newKey()}.example` });
        zone.set(dns_record.name, records(dns_record.value));
        const answer = await verifyByDns(id);
        expectProblem(answer, 422, "SENDER_VERIFICATION_FAILED");
        expect(answer.json.retryable).toBe(true);
        expect(answer.headers.get("retry-after")).toBe("60");
        expect(answer.json.detail).toContain(dns_record.name);
        expect(answer.json.detail).toContain(dns_record.value);
        expect((await tenant.call("GET", `${PATH}/${id}`)).json.status).toBe("unverified");
      });
    }

    test("with another workspace's value is not verified", async () => {
      const other = await service.tenant({ sender: null });
      const [{ id }, theirs] = [
        await add({ domain: "shared.example" }),
        await add({ domain: "shared.example" }, other),
      ];
      zone.set(theirs.dns_record.name, [[theirs.dns_record.value]]);
      expectProblem(await verifyByDns(id), 422, "SENDER_VERIFICATION_FAILED");
      expect((await verifyByDns(theirs.id, other)).json.status).toBe("verified");
    });

    test.each<[string, (value: string) => readonly (readonly string[])[]]>([
      ["in two strings", (value) => [["before"], [value.slice(0, 30), value.slice(30)]]],
      ["among many records", (value) => [...Array.from({ length: 8 }, (_, n) => [`record ${n}`]), [value]]],
    ])("is verified by a value %s", async (_, records) => {
      const { id, dns_record } = await add({ domain: `${newKey()}.example` });
      zone.set(dns_record.name, records(dns_record.value));
      expect((await verifyByDns(id)).json.status).toBe("verified");
    });

    test("says what was found in place of the record, as much as can be shown", async () => {
      const { id, dns_record } = await add({ domain: "found.example" });
      const detail = async () => (await verifyByDns(id)).json.detail;
      expect(await detail()).toBe(
        `there is no TXT record of ${dns_record.name}: publish one that is "${dns_record.value}"`,
      );
      zone.set(dns_record.name, [["v=spf1 -all"]]);
      expect(await detail()).toEndWith(`is "${dns_record.value}": found "v=spf1 -all"`);
      const hostileRecords = ["a\u001b[2J\r\nb\u202ec", "x".repeat(200), "two", "three", "four"];
      zone.set(
        dns_record.name,
        hostileRecords.map((text) => [text]),
      );
      const shownDetail = await detail();
      expect(shownDetail).toContain(`"${"x".repeat(100)}" and more`);
      expect(shownDetail).toEndWith(" and 2 other strings");
      expect(shownDetail).toMatch(/^[\x20-\x7e]+$/);
    });

    test("whose name servers fail is reported as such, retryable, and not as an internal error", async () => {
      const { id, dns_record } = await add({ domain: "trouble.example" });
      zone.set(dns_record.name, "servfail");
      const answer = await verifyByDns(id);
      expectProblem(answer, 422, "SENDER_VERIFICATION_FAILED");
      expect(answer.json.detail).toContain("SERVFAIL");
      expect(answer.json.detail).toContain("try again later");
      zone.set(dns_record.name, [[dns_record.value]]);
      expect((await verifyByDns(id)).json.status).toBe("verified");
    });

    test("that our own name servers do not look up stays as it is, and may be tried again", async () => {
      const { id, dns_record } = await add({ domain: "unanswered.example" });
      zone.set(dns_record.name, "refused");
      const answer = await verifyByDns(id);
      expectProblem(answer, 503, "INTERNAL_ERROR");
      expect(answer.json).toMatchObject({
        retryable: true,
        detail: "DNS gave no answer (EREFUSED), so nothing was looked up or changed; try again later",
      });
      expect(answer.headers.get("retry-after")).toBe("60");
      zone.set(dns_record.name, [[dns_record.value]]);
      expect((await verifyByDns(id)).json.status).toBe("verified");
    });

    test("is not verified by mail, nor an address by DNS", async () => {
      const [domain, address] = [
        await add({ domain: "method.example" }),
        await add({ address: "m@method.example" }),
      ];
      const ask = (id: string, method: string) =>
        tenant.call("POST", `${PATH}/${id}/verification`, { body: { method } });
      for (const answer of [
        await ask(domain.id, "email"),
        await ask(address.id, "dns"),
        await ask(domain.id, "fax"),
      ]) {
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.errors[0].pointer).toBe("/method");
      }
    });

    test("does not speak for an address that was disabled, and does again once that is enabled", async () => {
      const own = await service.tenant({ sender: null });
      await verifiedDomain("partly.example", own);
      const { id } = await add({ address: "left@partly.example" }, own);
      expect((await sendFrom("left@partly.example", own)).status).toBe(202);
      await switchTo(id, "disable", own);
      expectProblem(await sendFrom("LEFT@partly.example", own), 422, "SENDER_UNAVAILABLE");
      expect((await sendFrom("right@partly.example", own)).status).toBe(202);
      await switchTo(id, "enable", own);
      expect((await sendFrom("left@partly.example", own)).status).toBe(202);
    });

    test("that is disabled lets none of its addresses send but those that can on their own", async () => {
      const own = await service.tenant({ sender: "own@closed.example" });
      const { id } = await verifiedDomain("closed.example", own);
      const key = newKey();
      const first = await own.send(key, message({ from: "any@closed.example" }));
      expect(first.status).toBe(202);
      await switchTo(id, "disable", own);
      expectProblem(await sendFrom("any@closed.example", own), 422, "SENDER_UNAVAILABLE");
      expect((await sendFrom("own@closed.example", own)).status).toBe(202);
      // What was accepted stays so, whatever has come of its sender since.
      const replay = await own.send(key, message({ from: "any@closed.example" }));
      expect(replay.text).toBe(first.text);
      expect(replay.headers.get("idempotent-replayed")).toBe("true");
    });

    test("gives its mail the address that it is sent from: lists find it by that", async () => {
      const own = await service.tenant({ sender: null });
      await verifiedDomain("found.example", own);
      const { json } = await sendFrom("here@found.example", own);
      await until(async () => {
        const list = await own.call("GET", "/api/v1/emails?from=here@found.example");
        return list.json.data.length === 1 && list.json.data[0].id === json.id;
      }, "the list");
      expect((await own.call("GET", "/api/v1/emails?from=there@found.example")).json.data).toEqual([]);
    });

    test("is looked for 60 times an hour for one workspace, then RATE_LIMITED; others go on", async () => {
      const [own, other] = [await service.tenant({ sender: null }), await service.tenant({ sender: null })];
      const { id } = await add({ domain: "often.example" }, own);
      for (let lookup = 0; lookup < LOOKUPS_MAX; lookup += 1) {
        expectProblem(await verifyByDns(id, own), 422, "SENDER_VERIFICATION_FAILED");
      }
      // Other tests' verified domains are looked at again meanwhile.
      const queryCount = () => dns.questions.filter((question) => question.endsWith("often.example")).length;
      const before = queryCount();
      const limited = await verifyByDns(id, own);
      expectProblem(limited, 429, "RATE_LIMITED");
      expect(Number(limited.headers.get("retry-after"))).toBeWithin(3_500, 3_601);
      expect(queryCount()).toBe(before);
      expectProblem(
        await verifyByDns((await add({ domain: "often.example" }, other)).id, other),
        422,
        "SENDER_VERIFICATION_FAILED",
      );
    });
  });

  test("an address is SENDER_VERIFICATION_UNAVAILABLE by mail where no VERIFICATION_FROM is set", async () => {
    const { id } = await add({ address: "nomail@example.com" });
    const answer = await tenant.call("POST", `${PATH}/${id}/verification`, { body: { method: "email" } });
    expectProblem(answer, 409, "SENDER_VERIFICATION_UNAVAILABLE");
    expect(answer.json.detail).toContain("can verify it: `bun run postledger sender verify`");
  });

  test("the command line adds, verifies, disables and enables addresses and domains", async () => {
    const own = await service.tenant({ sender: null });
    const run = async (verb: string, name: string) => {
      const words = ["sender", verb, name, "--workspace", own.workspaceId, "--json"];
      const { exitCode: status, json, err } = await runCommand(words, service.app.dataDir, store.env);
      return { status, outcome: status === 0 ? json.outcome : err };
    };
    expect(await run("verify", "cli.example")).toMatchObject({ status: 1 });
    expect(await run("add", "cli.example")).toEqual({ status: 0, outcome: "added" });
    expect(await run("verify", "cli.example")).toEqual({ status: 0, outcome: "verified" });
    expect(await run("add", "off@cli.example")).toEqual({ status: 0, outcome: "added" });
    expect(await run("disable", "off@cli.example")).toEqual({ status: 0, outcome: "disabled" });
    expect((await sendFrom("on@cli.example", own)).status).toBe(202);
    expectProblem(await sendFrom("off@cli.example", own), 422, "SENDER_UNAVAILABLE");
    expect(await run("enable", "off@cli.example")).toEqual({ status: 0, outcome: "enabled" });
    await until(
      async () => (await sendFrom("off@cli.example", own)).status === 202,
      "the address to be enabled",
    );
    const { data } = (await own.call("GET", PATH)).json;
    expect(
      data.map(({ status, verified_by }: Record<string, unknown>) => [status, verified_by]).sort(),
    ).toEqual([
      ["unverified", null],
      ["verified", "operator"],
    ]);
  }, 60_000);
});
