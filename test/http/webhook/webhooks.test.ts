import { describe, expect, test } from "bun:test";
import { webhooksStream } from "../../../src/domain/webhook/events.ts";
import { WEBHOOK_EVENT_TYPES } from "../../../src/domain/webhookEventTypes.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import type { Caller } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";

const PATH = "/webhooks";
const ENDPOINTS_MAX = 100;
const URL_CHARACTERS_MAX = 2_000;

/** What every endpoint in a list has, and nothing else: above all no secret. */
const FIELDS = [
  "created_at",
  "description",
  "disabled_reason",
  "event_types",
  "id",
  "include",
  "object",
  "status",
  "updated_at",
  "url",
];

/** Not public, not HTTPS, or not on port 443: each in as many spellings as attackers have. */
const HOSTILE: readonly string[] = [
  "",
  " ",
  "example.com",
  "//example.com/hook",
  "/hook",
  "https://",
  "https://?",
  "https:///",
  "https:example.com/hook",
  "https:/example.com/hook",
  "https:///example.com/hook",
  "https:\\\\example.com/hook",
  "https://example.com\\@127.0.0.1/",
  "https://example.com/ho\tok",
  "\thttps://example.com/hook",
  "https://example.com/hook\n",
  "https://example.com/hook ",
  "https://example.com/hook\u0000",
  "http://example.com/hook",
  "HTTP://example.com/hook",
  "ftp://example.com/hook",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "data:text/plain,x",
  "gopher://example.com/",
  "wss://example.com/hook",
  "https://example.com:80/hook",
  "https://example.com:444/hook",
  "https://example.com:8443/hook",
  "https://example.com:0/hook",
  "https://example.com:65536/hook",
  "https://user@example.com/hook",
  "https://user:password@example.com/hook",
  "https://:password@example.com/hook",
  "https://example.com@127.0.0.1/hook",
  "https://127.0.0.1#@example.com/",
  "https://127.0.0.1\\@example.com/",
  "https://localhost/hook",
  "https://LOCALHOST/hook",
  "https://localhost./hook",
  "https://hooks.localhost/hook",
  "https://printer.local/hook",
  "https://printer.local./hook",
  "https://api.internal/hook",
  "https://metadata.google.internal/computeMetadata/v1/",
  "https://router.home.arpa/hook",
  "https://intranet/hook",
  "https://com/hook",
  "https://example.test/hook",
  "https://example.invalid/hook",
  "https://abcdefghijklmnop.onion/hook",
  "https://.example.com/hook",
  "https://example..com/hook",
  "https://example.com../hook",
  "https://-example.com/hook",
  "https://example-.com/hook",
  "https://exa mple.com/hook",
  "https://exa%00mple.com/hook",
  "https://example.com%2f@127.0.0.1/",
  `https://${"a".repeat(64)}.com/hook`,
  `https://${"a.".repeat(127)}com/hook`,
  "https://0.0.0.0/hook",
  "https://0/hook",
  "https://127.0.0.1/hook",
  "https://127.0.0.1./hook",
  "https://127.255.255.254/hook",
  "https://127.1/hook",
  "https://0x7f.1/hook",
  "https://0x7f000001/hook",
  "https://0177.0.0.1/hook",
  "https://017700000001/hook",
  "https://2130706433/hook",
  "https://①②⑦.0.0.1/hook",
  "https://127。0。0。1/hook",
  "https://%31%32%37.0.0.1/hook",
  "https://10.0.0.1/hook",
  "https://10.255.255.255/hook",
  "https://172.16.0.1/hook",
  "https://172.31.255.255/hook",
  "https://192.168.1.1/hook",
  "https://192.168.257/hook",
  "https://169.254.169.254/latest/meta-data/",
  "https://0xa9fea9fe/latest/meta-data/",
  "https://2852039166/latest/meta-data/",
  "https://100.64.0.1/hook",
  "https://100.100.100.200/latest/meta-data/",
  "https://192.0.0.192/hook",
  "https://192.0.2.1/hook",
  "https://198.18.0.1/hook",
  "https://198.51.100.1/hook",
  "https://203.0.113.1/hook",
  "https://224.0.0.1/hook",
  "https://239.255.255.250/hook",
  "https://240.0.0.1/hook",
  "https://255.255.255.255/hook",
  "https://1.2.3.4.5/hook",
  "https://256.1.1.1/hook",
  "https://1.1.1.1/hook",
  "https://8.8.8.8/hook",
  "https://[2606:4700::1111]/hook",
  "https://[::]/hook",
  "https://[::1]/hook",
  "https://[0:0:0:0:0:0:0:1]/hook",
  "https://[::ffff:127.0.0.1]/hook",
  "https://[::ffff:7f00:1]/hook",
  "https://[::ffff:8.8.8.8]/hook",
  "https://[::127.0.0.1]/hook",
  "https://[64:ff9b::7f00:1]/hook",
  "https://[64:ff9b::8.8.8.8]/hook",
  "https://[64:ff9b:1::1]/hook",
  "https://[2002:7f00:1::]/hook",
  "https://[2002:808:808::1]/hook",
  "https://[2001::1]/hook",
  "https://[2001:db8::1]/hook",
  "https://[3fff::1]/hook",
  "https://[fc00::1]/hook",
  "https://[fd12:3456:789a::1]/hook",
  "https://[fd00:ec2::254]/latest/meta-data/",
  "https://[fe80::1]/hook",
  "https://[fe80::1%25eth0]/hook",
  "https://[fec0::1]/hook",
  "https://[ff02::1]/hook",
  "https://[100::1]/hook",
  "https://[5f00::1]/hook",
  "https://[1::2::3]/hook",
  `https://example.com/${"a".repeat(URL_CHARACTERS_MAX)}`,
];

/** What is registered, and how it is kept. */
const WELCOME: readonly [string, string][] = [
  ["https://example.com", "https://example.com/"],
  ["https://hooks.example.co.uk/a/b?c=d&e=%20f", "https://hooks.example.co.uk/a/b?c=d&e=%20f"],
  ["HTTPS://Hooks.Example.COM/Path", "https://hooks.example.com/Path"],
  ["https://example.com:443/hook", "https://example.com/hook"],
  ["https://example.com./hook", "https://example.com/hook"],
  ["https://example.com/hook#fragment", "https://example.com/hook"],
  ["https://bücher.example/hook", "https://xn--bcher-kva.example/hook"],
  ["https://例え.テスト/hook", "https://xn--r8jz45g.xn--zckzah/hook"],
  ["https://under_score.example.com/hook", "https://under_score.example.com/hook"],
  ["https://xn--bcher-kva.example.org/hook", "https://xn--bcher-kva.example.org/hook"],
  ["https://localhost.example.com/hook", "https://localhost.example.com/hook"],
  ["https://internal.example.com/hook", "https://internal.example.com/hook"],
  ["https://127.0.0.1.example.com/hook", "https://127.0.0.1.example.com/hook"],
];

describe.each(await testStores())("webhook endpoints on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  let hooks = 0;
  const newUrl = () => {
    hooks += 1;
    return `https://hooks.example.com/${hooks}`;
  };
  const create = (body: Record<string, unknown>, caller: Caller = tenant) =>
    caller.call("POST", PATH, { body });
  const created = async (body: Record<string, unknown>, caller: Caller = tenant) => {
    const answer = await create(body, caller);
    expect({ status: answer.status, detail: answer.json.detail }).toEqual({ status: 201 } as never);
    return answer.json;
  };
  const list = async (caller: Caller = tenant, query = "") => {
    const answer = await caller.call("GET", PATH + query);
    expect({ status: answer.status, detail: answer.json.detail }).toEqual({ status: 200 } as never);
    return answer.json;
  };
  const storedUrls = async (workspaceId: string) =>
    (await service.log.store.read(webhooksStream(workspaceId), 0, 500)).map(
      ({ data }) => (data as { url: string }).url,
    );

  describe("registering", () => {
    test("answers 201 with the endpoint and its secret", async () => {
      const url = newUrl();
      const json = await created({
        url,
        description: "Orders",
        event_types: ["email.sent", "email.bounced"],
      });
      expect(Object.keys(json).sort()).toEqual([...FIELDS, "secret"].sort());
      expect(json).toMatchObject({
        object: "webhook_endpoint",
        url,
        description: "Orders",
        event_types: ["email.sent", "email.bounced"],
        status: "active",
        disabled_reason: null,
        updated_at: json.created_at,
      });
      expect(json.id).toMatch(/^[0-9a-f-]{36}$/);
      expect(new Date(json.created_at).toISOString()).toBe(json.created_at);
    });

    test("gives each endpoint a secret of 32 bytes of its own", async () => {
      const secrets = [await created({ url: newUrl() }), await created({ url: newUrl() })].map(
        ({ secret }) => {
          expect(secret).toStartWith("whsec_");
          return secret.slice("whsec_".length);
        },
      );
      for (const secret of secrets) expect(Uint8Array.fromBase64(secret)).toHaveLength(32);
      expect(secrets[0]).not.toBe(secrets[1]);
    });

    test("shows the secret this once: neither a list nor the log has it", async () => {
      const own = await service.tenant({ sender: null });
      const { secret } = await created({ url: newUrl() }, own);
      const base64 = secret.slice("whsec_".length);
      const all = await own.call("GET", PATH);
      const paged = await own.call("GET", `${PATH}?limit=1`);
      for (const { text, json } of [all, paged]) {
        expect(text).not.toContain(base64);
        expect(text).not.toContain("secret");
        expect(Object.keys(json.data[0]).sort()).toEqual(FIELDS);
      }
      const stored = await service.log.store.read(webhooksStream(own.workspaceId), 0, 10);
      expect(stored).toHaveLength(1);
      expect(JSON.stringify(stored)).not.toContain(base64);
    });

    test("without description and event_types means none and all", async () => {
      expect(await created({ url: newUrl() })).toMatchObject({ description: null, event_types: null });
      expect(await created({ url: newUrl(), description: null, event_types: null })).toMatchObject({
        description: null,
        event_types: null,
      });
    });

    test("takes every type of event that there is", async () => {
      const event_types = [...WEBHOOK_EVENT_TYPES];
      expect((await created({ url: newUrl(), event_types })).event_types).toEqual(event_types);
    });

    test("takes a description of 500 characters, emoji as well", async () => {
      const description = "🪝".repeat(500);
      expect((await created({ url: newUrl(), description })).description).toBe(description);
    });
  });

  describe("a destination", () => {
    test("that was refused is not kept", async () => {
      const own = await service.tenant({ sender: null });
      await create({ url: "https://127.0.0.1/hook" }, own);
      expect(await list(own)).toEqual({ data: [] });
      expect(await storedUrls(own.workspaceId)).toEqual([]);
    });

    test.each([...WELCOME])("%p is kept as %p", async (url, normalised) => {
      const own = await service.tenant({ sender: null });
      expect((await created({ url }, own)).url).toBe(normalised);
      expect(await storedUrls(own.workspaceId)).toEqual([normalised]);
    });

    test(`of ${URL_CHARACTERS_MAX} characters is accepted`, async () => {
      const start = "https://example.com/";
      await created({ url: start + "a".repeat(URL_CHARACTERS_MAX - start.length) });
    });

    test("is unique in its workspace, however it is spelt", async () => {
      const own = await service.tenant({ sender: null });
      await created({ url: "https://example.com/hook?a=1" }, own);
      for (const url of [
        "https://example.com/hook?a=1",
        "https://EXAMPLE.com/hook?a=1",
        "HTTPS://example.com/hook?a=1",
        "https://example.com:443/hook?a=1",
        "https://example.com./hook?a=1",
        "https://example.com/hook?a=1#again",
        "https://example.com/./x/../hook?a=1",
        "https://ｅxample.com/hook?a=1",
      ]) {
        const answer = await create({ url, description: "another" }, own);
        expect({ url, code: answer.json.code }).toEqual({ url, code: "WEBHOOK_ALREADY_EXISTS" });
        expect(answer.status).toBe(409);
      }
      expect((await list(own)).data).toHaveLength(1);
    });

    test("in another letter case of its path or query is another one", async () => {
      const own = await service.tenant({ sender: null });
      for (const path of ["hook?a=1", "Hook?a=1", "hook?A=1", "hook?a=1&", "hook/?a=1"]) {
        await created({ url: `https://example.com/${path}` }, own);
      }
    });

    test("of another workspace is free", async () => {
      const url = newUrl();
      await created({ url });
      await created({ url }, await service.tenant({ sender: null }));
    });

    test("that many register at once has one winner", async () => {
      const own = await service.tenant({ sender: null });
      const url = newUrl();
      const answers = await Promise.all(Array.from({ length: 10 }, () => create({ url }, own)));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      for (const answer of answers.filter(({ status }) => status !== 201))
        expectProblem(answer, 409, "WEBHOOK_ALREADY_EXISTS");
      expect(await storedUrls(own.workspaceId)).toEqual([url]);
    });

    test("among many that are registered at once is not lost", async () => {
      const own = await service.tenant({ sender: null });
      const urls = Array.from({ length: 10 }, newUrl);
      await Promise.all(urls.map((url) => created({ url }, own)));
      expect((await storedUrls(own.workspaceId)).sort()).toEqual([...urls].sort());
    });
  });

  describe("the list", () => {
    test("of a new workspace is exactly {data: []}", async () => {
      expect(await list(await service.tenant({ sender: null }))).toEqual({ data: [] });
    });

    test("shows at once what was registered, newest first", async () => {
      const own = await service.tenant({ sender: null });
      const ids: string[] = [];
      for (let index = 0; index < 8; index += 1) {
        ids.unshift((await created({ url: newUrl() }, own)).id);
        const json = await list(own);
        expect(Object.keys(json)).toEqual(["data"]);
        expect(json.data.map(({ id }: { id: string }) => id)).toEqual(ids);
      }
    });

    test("shows an endpoint as its registration did, without the secret", async () => {
      const own = await service.tenant({ sender: null });
      const { secret: _, ...endpoint } = await created({ url: newUrl(), event_types: ["email.sent"] }, own);
      expect((await list(own)).data).toEqual([endpoint]);
    });

    test("shows nothing of another workspace", async () => {
      const [own, other] = [await service.tenant({ sender: null }), await service.tenant({ sender: null })];
      await created({ url: newUrl() }, own);
      expect(await list(other)).toEqual({ data: [] });
    });

    test(`holds ${ENDPOINTS_MAX} endpoints whole; the next is WEBHOOK_LIMIT_REACHED`, async () => {
      const own = await service.tenant({ sender: null });
      const urls = Array.from({ length: ENDPOINTS_MAX }, newUrl);
      const [last = "", ...others] = urls;
      await service.addEndpoints(own.workspaceId, others);
      await created({ url: last }, own);
      expectProblem(await create({ url: newUrl() }, own), 409, "WEBHOOK_LIMIT_REACHED");
      // What is there already is named as such, also where there is no room.
      expectProblem(await create({ url: urls[0] }, own), 409, "WEBHOOK_ALREADY_EXISTS");
      const { data, ...rest } = await list(own);
      expect(data.map(({ url }: { url: string }) => url).sort()).toEqual([...urls].sort());
      expect(rest).toEqual({});
    });

    test("with a limit comes in pages that a cursor joins", async () => {
      const own = await service.tenant({ sender: null });
      for (let index = 0; index < 7; index += 1) await created({ url: newUrl() }, own);
      const all = (await list(own)).data;
      const pages: unknown[] = [];
      let query = "?limit=3";
      for (let page = 0; page < 3; page += 1) {
        const { data, next_cursor: cursor, ...rest } = await list(own, query);
        expect(rest).toEqual({});
        pages.push(...data);
        query = `?limit=3&cursor=${cursor}`;
        if (page === 2) expect(cursor).toBeNull();
      }
      expect(pages).toEqual(all);
    });

    test("with a limit of 1 and of 100 is a page", async () => {
      const own = await service.tenant({ sender: null });
      await created({ url: newUrl() }, own);
      await created({ url: newUrl() }, own);
      expect((await list(own, "?limit=1")).data).toHaveLength(1);
      expect(await list(own, "?limit=100")).toMatchObject({ next_cursor: null });
    });
  });
});

describe("what cannot be a webhook endpoint", () => {
  const { tenant } = serviceFixture(sqliteStore);
  const url = "https://hooks.example.com/";
  const create = (body: Record<string, unknown>) => tenant.call("POST", PATH, { body });

  const refused: readonly [string, Record<string, unknown>, string][] = [
    ["without a url", {}, "/url"],
    ["with a url that is no text", { url: 1 }, "/url"],
    ["with a url that is null", { url: null }, "/url"],
    ["with an unknown event type", { event_types: ["email.sent", "email.opened"] }, "/event_types/1"],
    ["with an event type in another letter case", { event_types: ["Email.Sent"] }, "/event_types/0"],
    ["with an event type that is no text", { event_types: [1] }, "/event_types"],
    ["with no event type", { event_types: [] }, "/event_types"],
    ["with an event type twice", { event_types: ["email.sent", "email.sent"] }, "/event_types"],
    ["with event_types that is no list", { event_types: "email.sent" }, "/event_types"],
    ["with a description that is no text", { description: 1 }, "/description"],
    ["with a description of 501 characters", { description: "d".repeat(501) }, "/description"],
    ["with a line break in its description", { description: "Orders\nand more" }, "/description"],
    ["with a description of spaces alone", { description: "  " }, "/description"],
    ["with what cannot be seen in its description", { description: "Or\u200bders" }, "/description"],
    ["with an unknown field", { secret: "whsec_mine" }, "/secret"],
  ];
  for (const [what, parts, pointer] of refused) {
    test(`${what} is refused at ${pointer}`, async () => {
      const answer = await create(what.includes("url") ? parts : { url, ...parts });
      expectProblem(answer, 400, "INVALID_REQUEST");
      const pointers: string[] = answer.json.errors.map((error: { pointer: string }) => error.pointer);
      expect(pointers.some((found) => found.startsWith(pointer))).toBeTrue();
    });
  }

  test("a body other than JSON is refused", async () => {
    const options = { body: JSON.stringify({ url }), headers: { "content-type": "text/plain" } };
    expectProblem(await tenant.call("POST", PATH, options), 400, "INVALID_REQUEST");
    expectProblem(await tenant.call("POST", PATH, { body: "{" }), 400, "INVALID_REQUEST");
  });

  test.each([...HOSTILE])("%p is INVALID_WEBHOOK_URL", async (hostile) => {
    const answer = await create({ url: hostile });
    expectProblem(answer, 422, "INVALID_WEBHOOK_URL");
  });

  for (const [query, pointer] of [
    ["?limit=0", "/limit"],
    ["?limit=101", "/limit"],
    ["?limit=x", "/limit"],
    ["?cursor=x", "/cursor"],
    ["?status=active", "/status"],
  ] as const) {
    test(`${query} is refused at ${pointer}`, async () => {
      const answer = await tenant.call("GET", PATH + query);
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors).toMatchObject([{ pointer }]);
    });
  }
});
