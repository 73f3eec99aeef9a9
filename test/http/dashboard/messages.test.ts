import { beforeAll, describe, expect, spyOn, test } from "bun:test";
import { readEmailState } from "../../../src/commands/email/readEmail.ts";
import { markVerified } from "../../../src/commands/sender/manageSender.ts";
import { recordSentByOperator } from "../../../src/domain/email/decisions.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { csvStream } from "../../../src/http/dashboard/components/csvStream.ts";
import { parseSearch, SEARCH_WORDS, searchText } from "../../../src/http/dashboard/email/emailSearch.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { type Samples, sendSamples } from "../../support/sampleMessages.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const START_MS = 60_000;
const SAMPLES = 35;
/** Mails on a page of the outbox. */
const OUTBOX_PAGE = 25;
const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>`;

/** The fields of the form that asks about all that match. */
function fieldsOf(html: string): Readonly<Record<string, string>> {
  const fields = html.matchAll(/name="(q|until|nonce|mail)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = "", value = ""]) => [name, value]));
}

describe.each(await testStores())("messages on $name", (store) => {
  const { service, tenant } = serviceFixture(store);
  let visitor: Visitor;
  let samples: Samples;
  beforeAll(async () => {
    samples = await sendSamples(service, tenant, SAMPLES);
    visitor = await logIn(service.url, tenant.apiKey);
  }, START_MS);
  const rowsIn = (html: string) => [...html.matchAll(/data-row="([0-9a-f-]{36})"/g)].map(([, id]) => id);
  const search = (text: string) => visitor.get(`/messages?${new URLSearchParams({ q: text })}`);

  describe("before the first one", () => {
    const emptyList = async ({ apiKey }: Pick<Tenant, "apiKey">) =>
      (await (await logIn(service.url, apiKey)).get("/messages")).html.replaceAll("&quot;", '"');

    test("a command sends one from an address that the workspace may send from", async () => {
      const own = await service.tenant({ sender: "news@shop.example" });
      expect(await emptyList(own)).toContain('{"from":"news@shop.example",');
    });

    test("the command's address is one that the session's key may send from", async () => {
      const own = await service.tenant({ sender: "news@shop.example" });
      const added = await own.call("POST", "/api/v1/senders", { body: { domain: "acme.example" } });
      const body = { name: "bound", scopes: ["email:send", "email:read"], senders: ["acme.example"] };
      const { json: key } = await own.call("POST", "/api/v1/api-keys", { body });
      expect(await emptyList({ apiKey: key.key })).toContain("None of the senders that this key is bound to");
      const context = { ...systemCommandContext("test"), workspaceId: own.workspaceId };
      await markVerified(service.log, added.json.id, "operator", context);
      const isShown = async () =>
        (await emptyList({ apiKey: key.key })).includes('{"from":"&lt;name&gt;@acme.example",');
      // Verified beside the service, which reads it a moment later.
      await until(isShown, "the address of the verified domain");
    });

    test("without a sender, one that manages senders is led to them, and others see the commands", async () => {
      const own = await service.tenant({ sender: null });
      const html = await emptyList(own);
      expect(html).toContain('<a href="/dashboard/senders">Add or verify a sender</a>');
      expect(html).not.toContain("curl ");
      const reader = await own.withKey({ scopes: ["email:read"] });
      expect(await emptyList(reader)).toContain(
        `postledger sender add billing@acme.example --workspace ${own.workspaceId}`,
      );
    });
  });

  test("are listed newest first, page by page, each once", async () => {
    const seen: (string | undefined)[] = [];
    let next: string | undefined = "/messages";
    while (next !== undefined) {
      const { html } = await visitor.get(next);
      seen.push(...rowsIn(html));
      next = /href="\/dashboard(\/messages\?[^"]*)" rel="next"/.exec(html)?.[1]?.replaceAll("&amp;", "&");
    }
    expect(seen.length).toBe(SAMPLES);
    expect(new Set(seen).size).toBe(SAMPLES);
    expect(seen[0]).toBe(samples.queued);
  });

  test("are found by what their recipient, sender, status, time and key are", async () => {
    const { json } = await tenant.call("GET", `/api/v1/emails/${samples.bounced}`);
    const found = async (text: string) => rowsIn((await search(text)).html);
    expect(await found("status:bounced")).toEqual([samples.bounced]);
    expect(await found(`to:${json.to} status:bounced`)).toEqual([samples.bounced]);
    expect(await found(`${json.to} status:bounced from:${json.from}`)).toEqual([samples.bounced]);
    expect(await found(`from:other@example.com`)).toEqual([]);
    expect(await found("after:2000-01-01 before:2001-01-01")).toEqual([]);
    expect(await found(`key:sample-${String(SAMPLES - 1).padStart(5, "0")}`)).toEqual([samples.queued]);
    const byId = await search(samples.failed);
    expect(byId.location).toBe(`/dashboard/messages/${samples.failed}`);
  });

  test("a search that finds nothing explains addresses only if it has one", async () => {
    for (const [text, hasAddress] of [
      ["to:nobody@example.com", true],
      ["nobody@example.com status:bounced", true],
      ["from:other@example.com", true],
      ["key:abc", false],
      ["reason:mailbox_full", false],
    ] as const) {
      const { html } = await search(text);
      expect(html).toContain("No message matches");
      expect({ text, isExplained: html.includes("Addresses must be complete") }).toEqual({
        text,
        isExplained: hasAddress,
      });
    }
  });

  test("in the outbox come page by page", async () => {
    const other = await service.tenant();
    const ids: string[] = [];
    for (let nth = 0; nth < OUTBOX_PAGE + 1; nth += 1) {
      const { json } = await other.send(newKey(), message({ subject: `Number ${nth}.` }));
      await service.addEmailEvents(
        json.id,
        {
          type: "EmailDeliveryStarted",
          data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "outbox" },
        },
        { type: "EmailSent", data: { attempt: 1, transport: "outbox", reply: "250 ok" } },
      );
      ids.push(json.id);
    }
    const otherVisitor = await logIn(service.url, other.apiKey);
    const first = async () => (await otherVisitor.get("/outbox")).html;
    await until(
      async () => (await first()).includes(`open=${ids.at(-1)}`),
      "the newest message in the outbox",
    );
    expect(await first()).not.toContain("Number 0.");
    const [, older = ""] = /href="\/dashboard(\/outbox\?cursor=[^"]+)"/.exec(await first()) ?? [];
    const { html } = await otherVisitor.get(older);
    expect(html).toContain("Number 0.");
    // Opening a message keeps the page.
    expect(html).toContain(`${older}&amp;open=${ids[0]}`);
  });

  test("that were not sent do not push those that were off the first page of the outbox, also if a report has come", async () => {
    const other = await service.tenant();
    const { json: sent } = await other.send(newKey(), message({}));
    await service.addEmailEvents(
      sent.id,
      {
        type: "EmailDeliveryStarted",
        data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "outbox" },
      },
      { type: "EmailSent", data: { attempt: 1, transport: "outbox", reply: "250 ok" } },
      { type: "EmailDelivered", data: { attempt: 1, source: "api" } },
    );
    let last = "";
    for (let nth = 0; nth < OUTBOX_PAGE; nth += 1) last = (await other.send(newKey(), message({}))).json.id;
    const otherVisitor = await logIn(service.url, other.apiKey);
    await until(
      async () => rowsIn((await otherVisitor.get("/messages")).html).includes(last),
      "the last message in the list",
    );
    expect(rowsIn((await otherVisitor.get("/outbox")).html)).toEqual([sent.id]);
  });

  test("that were canceled do not show a later report as what became of them", async () => {
    const at = new Date(Date.now() + 49 * 3_600_000).toISOString();
    const { json } = await tenant.send(newKey(), message({ scheduled_at: at }));
    await service.addEmailEvents(
      json.id,
      { type: "EmailCanceled", data: {} },
      { type: "EmailBounced", data: { attempt: 1, reason: "mailbox_full", source: "api" } },
    );
    const { html } = await visitor.get(`/messages/${json.id}`);
    expect(html).toContain("<strong>Bounced</strong>");
    expect(html).not.toContain("What became of it");
  });

  test("that the relay may have cannot be canceled; an outcome that came too late to matter says so", async () => {
    const at = new Date(Date.now() + 49 * 3_600_000).toISOString();
    const { json } = await tenant.send(newKey(), message({ scheduled_at: at }));
    const claim = { worker: "w", leaseMs: 60_000, transport: "smtp" };
    const deferred = { attempt: 1, attemptBurnt: true, nextAttemptAt: at };
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: { attempt: 1, ...claim } },
      { type: "EmailDeferred", data: { ...deferred, ambiguous: true, reason: "lease_expired" } },
    );
    const page = `/messages/${json.id}`;
    expect((await visitor.get(page)).html).not.toContain(`${page}/cancel`);
    expect((await visitor.get(`${page}/erase`)).html).toContain("The relay may have it: it is canceled");
    expect((await visitor.post(`${page}/cancel`)).status).toBe(303);
    expect((await visitor.get(page)).html).not.toContain("<strong>Canceled</strong>");
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: { attempt: 2, ...claim } },
      { type: "EmailSent", data: { attempt: 2, transport: "smtp", reply: "250 ok" } },
      {
        type: "EmailDeferred",
        data: { ...deferred, ambiguous: false, reason: "out_of_time", superseded: true },
      },
    );
    const { html } = await visitor.get(page);
    expect(html).toContain("Attempt 1 ended");
    expect(html).toContain("This came late, and did not change what became of the message.");
  });

  test("that wait for another attempt show what the relay said", async () => {
    const at = new Date(Date.now() + 49 * 3_600_000).toISOString();
    const { json } = await tenant.send(newKey(), message({ scheduled_at: at }));
    const standing = async () => {
      const { html } = await visitor.get(`/messages/${json.id}`);
      return /aria-label="Why it waits".*?<\/section>/s.exec(html)?.[0];
    };
    const deferred = { attempt: 1, attemptBurnt: true, ambiguous: false, nextAttemptAt: at };
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" } },
      {
        type: "EmailDeferred",
        data: { ...deferred, reason: "recipient_deferred", code: 450, reply: "450 4.2.0 come back later" },
      },
    );
    expect(await standing()).toContain('<pre class="said">450 4.2.0 come back later</pre>');
    await service.addEmailEvents(json.id, {
      type: "EmailDeferred",
      data: { ...deferred, reason: "resumed" },
    });
    expect(await standing()).not.toContain("come back later");
  });

  test("show the webhook calls of their end even after very many attempts", async () => {
    const own = await service.tenant();
    const urls = Array.from({ length: 21 }, (_, index) => `https://hook${index}.example.com/`);
    await service.addEndpoints(own.workspaceId, urls);
    const { json } = await own.send(newKey(), message());
    const nextAttemptAt = new Date().toISOString();
    const attempts = Array.from({ length: 100 }, (_, index): readonly EmailEvent[] => {
      const attempt = index + 1;
      const deferred = { attempt, reason: "recipient_deferred", attemptBurnt: true, ambiguous: false };
      return [
        { type: "EmailDeliveryStarted", data: { attempt, worker: "w", leaseMs: 60_000, transport: "smtp" } },
        { type: "EmailDeferred", data: { ...deferred, nextAttemptAt } },
      ];
    });
    await service.addEmailEvents(json.id, ...attempts.flat(), {
      type: "EmailFailed",
      data: { attempt: 100, reason: "expired" },
    });
    const ownVisitor = await logIn(service.url, own.apiKey);
    const shown = async () => (await ownVisitor.get(`/messages/${json.id}`)).html;
    await until(
      async () => (await shown()).includes("email.failed to hook20.example.com"),
      "the webhook calls of the failure",
    );
  });

  test("that are scheduled say in the list when they go", async () => {
    const at = new Date(Date.now() + 49 * 3_600_000).toISOString();
    const { json } = await tenant.send(newKey(), message({ scheduled_at: at }));
    let html = "";
    // The list waits a second for its read model at most, and then shows what there is.
    await until(async () => {
      html = (await search("status:scheduled")).html;
      return rowsIn(html).includes(json.id);
    }, "the message in the list");
    expect(html).toContain(
      '<span class="status waiting">scheduled</span> <span class="soft minor">in 2 days</span>',
    );
  });

  test("a form writes the words of the search, and has a field for each", async () => {
    const { html } = await visitor.get("/messages");
    for (const word of SEARCH_WORDS) expect(html).toContain(`name="${word}"`);
    const { location } = await visitor.get(
      "/messages?words=&to=ana@example.com&status=bounced&key=a+key+of+mine",
    );
    expect(location).toBe(
      `/dashboard/messages?${new URLSearchParams({ q: 'to:ana@example.com status:bounced key:"a key of mine"' })}`,
    );
  });

  test.each([
    ["sattus:bounced", "Did you mean status:?"],
    ["status:lost", "status: is one or several of"],
    ["status:bounced,lost", "status: is one or several of"],
    ["status:bounced,defered", "Did you mean status:deferred?"],
    ["reason:mailbox_full,", "reason: is one or several of"],
    ["reason:mailbox_ful", "Did you mean reason:mailbox_full?"],
    ["reason:no_route,full", "Did you mean reason:mailbox_full?"],
    ["mailbox_full", "did you mean reason:mailbox_full?"],
    ["to:ana", "a whole address"],
    ["after:yesterday", "a day in UTC or a time"],
    ["template:welcome", "the id of a template"],
    ["metadata:order", "a name and a value, such as metadata:order=4711"],
    ["metadata:=4711", "a name and a value"],
    ["hello", "does not say what to look for: give a whole address"],
    ["order=4711", "did you mean metadata:order=4711?"],
    ["bounced", "did you mean status:bounced?"],
    ["Supressed", "did you mean status:suppressed?"],
    ...SEARCH_WORDS.map((word) => [`${word}:`, `${word}: needs a value.`] as const),
    ["status:bounced to:", "to: needs a value."],
    ["to: status:bounced", "to: needs a value."],
    ["tag: status:bounced", "tag: needs a value."],
    ['to:""', "to: needs a value."],
    ["tag:a tag:b", "tag: can be given once."],
    ["to:ana@example.com to:bo@example.com", "to: can be given once."],
    ["ana@example.com bo@example.com", "to: can be given once."],
    ["key:order-4711 status:bounced", "takes no other word beside it"],
    [`status:bounced ${crypto.randomUUID()}`, "search for it alone"],
    ['tag:"welcome', "takes no quotation mark"],
  ])("a search for %s is answered with what is wrong, and with nothing to do", async (text, expectedText) => {
    const { status, html } = await search(text);
    expect(status).toBe(422);
    expect(html).toContain(expectedText);
    expect(html).toContain(`value="${Bun.escapeHTML(text)}"`);
    expect(rowsIn(html)).toEqual([]);
    for (const path of ["/messages.csv", "/messages/send-again", "/messages/rows"])
      expect(html).not.toContain(`/dashboard${path}`);
    const q = new URLSearchParams({ q: text });
    for (const path of ["/messages.csv", "/messages/send-again"])
      expect((await visitor.get(`${path}?${q}`)).status).toBe(400);
    const rows = await visitor.get(`/messages/rows?${q}&first=`, { "hx-request": "true" });
    expect(rows.html).not.toMatch(/\d\+? new/);
  });

  test.each([
    ["status: bounced", "status:bounced"],
    ["status:bounced status:failed", "status:bounced,failed"],
    ['status: "bounced" reason:no_route reason: mailbox_full', "status:bounced reason:no_route,mailbox_full"],
    ["from: sender@example.com", "from:sender@example.com"],
  ])("a search for %s is one for %s", async (text, meant) => {
    const { status, html } = await search(text);
    expect(status).toBe(200);
    expect(html).toContain(`value="${meant}"`);
    expect(rowsIn(html)).toEqual(rowsIn((await search(meant)).html));
  });

  test("days are picked, and a time that was searched for stays in the form", async () => {
    const { html } = await search("after:2026-11-01 before:2026-12-01T08:30:00Z");
    expect(html).toContain('name="after" type="date" value="2026-11-01"');
    expect(html).toContain('name="before" type="text" value="2026-12-01T08:30:00Z"');
  });

  test("a search that is too long is not cut, but answered with what is wrong", async () => {
    const { status, html } = await search(`status:bounced ${" ".repeat(1_000)}to:ana@example.com`);
    expect(status).toBe(422);
    expect(html).toContain("at most 1000 characters");
    expect(rowsIn(html)).toEqual([]);
  });

  test("all can only be sent again where a search says which", async () => {
    expect((await search("key:sample-00001")).html).not.toMatch(/messages\/send-again|messages\.csv/);
    expect((await search("status:bounced")).html).toContain(
      "/dashboard/messages/send-again?q=status%3Abounced",
    );
    expect((await visitor.get("/messages")).html).not.toContain("/dashboard/messages/send-again");
    expect((await visitor.get("/messages/send-again")).status).toBe(400);
    const now = { until: new Date().toISOString(), nonce: crypto.randomUUID() };
    expect((await visitor.get("/messages/cancel")).status).toBe(400);
    const mail = "live";
    expect((await visitor.post("/messages/cancel", { q: "", mail, ...now })).status).toBe(400);
    const refused = await visitor.post("/messages/send-again", { q: "", mail, ...now });
    expect(refused.status).toBe(400);
    expect(refused.html).toContain("only what matches a search");
  });

  test("say why, with the words of the relay, and what happened when", async () => {
    const { html } = await visitor.get(`/messages/${samples.bounced}`);
    for (const text of [
      "The address does not exist.",
      "550 5.1.1",
      "Attempt 1 began",
      "eager-otter",
      "<strong>Queued</strong>",
      // What the search and the API call it.
      ">recipient_address_rejected</code>",
      `data-copy="&lt;${samples.bounced}@example.com&gt;"`,
    ])
      expect(html).toContain(text);
    expect(html).not.toContain("Content stored");
    const then = await visitor.get(`/messages/${samples.bounced}?at=1`);
    expect(then.html).not.toContain("eager-otter");
  });

  test("that bounced or were complained about say so at the top, and name the source", async () => {
    const { json } = await tenant.send(newKey(), message());
    const started = { attempt: 1, worker: "eager-otter", leaseMs: 60_000, transport: "smtp" };
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: started },
      { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250 ok" } },
      { type: "EmailComplained", data: { attempt: 1, feedbackType: "abuse", source: "ses" } },
    );
    const complained = (await visitor.get(`/messages/${json.id}`)).html.split('class="tabs"')[0];
    expect(complained).toContain("The recipient has reported it as unwanted.");
    expect(complained).toContain("Amazon SES says so.");
    const problems = async () => (await visitor.get("/")).html.split('id="problems"')[1] ?? "";
    await until(async () => (await problems()).includes(json.id), "the problem report");
    expect(await problems()).toContain("The recipient has reported it as unwanted.");
  });

  test("that were simulated went to no relay, and their worker is called by the end of its id", async () => {
    const { json } = await tenant.send(newKey(), message());
    const worker = "01a20460-8872-761b-aa54-a79fe8bbf843";
    const started = { attempt: 1, worker, leaseMs: 60_000, transport: "simulator" };
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: started },
      { type: "EmailSent", data: { attempt: 1, transport: "simulator", reply: "250 2.0.0 simulated" } },
    );
    const { html } = await visitor.get(`/messages/${json.id}`);
    expect(html).toContain("It was not sent to any relay.");
    expect(html).not.toContain("took it");
    expect(html).toContain(
      `Worker <span title="${worker}">bbf843</span> simulates its delivery. Its lease: 1 minute.`,
    );
  });

  test("that the operator has recorded as sent claim no more than that", async () => {
    const { json } = await tenant.send(newKey(), message());
    const { events } = recordSentByOperator(await readEmailState(service.log.store, json.id));
    await service.addEmailEvents(json.id, ...events);
    const { html } = await visitor.get(`/messages/${json.id}`);
    expect(html).toContain("Recorded as sent");
    expect(html).toContain("When, and what the relay said, is not known.");
    expect(html).not.toContain("took it");
  });

  test("show what they are made of", async () => {
    const at = `/messages/${samples.sent}`;
    const body = await visitor.get(`${at}/body.html`);
    expect(body.headers.get("content-security-policy")).toStartWith("sandbox allow-popups");
    expect(body.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(body.html).toContain('<base target="_blank">');
    const source = await visitor.get(`${at}/source.eml`);
    expect(source.headers.get("content-disposition")).toStartWith("attachment");
    expect(source.html).toContain(`Message-ID: <${samples.sent}@example.com>`);
    expect((await visitor.get(`${at}?show=headers`)).html).toContain("Message-ID:");
    expect((await visitor.get(`${at}/files/0`)).status).toBe(404);
  });

  test("with files show the headers of the mail that a relay gets, as long as the files are there", async () => {
    const content = Buffer.from("Thank you.").toString("base64");
    const file = { filename: "terms.txt", content_type: "text/plain", content };
    const { json } = await tenant.send(newKey(), message({ attachments: [file] }));
    const at = `/messages/${json.id}`;
    const headers = async () =>
      /<pre class="paper">(.*?)<\/pre>/s.exec((await visitor.get(`${at}?show=headers`)).html)?.[1];
    const [sent = ""] = (await visitor.get(`${at}/source.eml`)).html.split("\r\n\r\n");
    expect(sent).toContain("Content-Type: multipart/mixed;");
    expect((await headers())?.split(/\r?\n/)).toEqual(Bun.escapeHTML(sent).split("\r\n"));
    await service.log.content.removeOwner({ workspaceId: tenant.workspaceId, ownerId: json.id });
    expect((await visitor.get(`${at}/source.eml`)).status).toBe(404);
    const shown = await visitor.get(`${at}?show=headers`);
    expect(shown.status).toBe(200);
    expect(shown.html).toContain("A file of the message is gone");
    expect(await headers()).toBeUndefined();
  });

  test("show the images that came with them, and ask nobody for others", async () => {
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
    const file = { filename: "logo.png", content_type: "image/png", content_id: "logo", content: png };
    const html = '<img src="cid:logo"><img src="cid:other"><img src="https://elsewhere.example/pixel.png">';
    const { json } = await tenant.send(newKey(), message({ text: undefined, html, attachments: [file] }));
    const body = await visitor.get(`/messages/${json.id}/body.html`);
    expect(body.html).toContain(`<img src="data:image/png;base64,${png}"><img src="cid:other">`);
    expect(body.headers.get("content-security-policy")).toContain("img-src data:");
  });

  test("are read once for their page", async () => {
    const { json } = await tenant.send(newKey(), message({ to: "suppressed@simulator.test" }));
    const read = spyOn(Object.getPrototypeOf(service.log.store) as EventStore, "read");
    try {
      await visitor.get(`/messages/${json.id}`);
      expect(read.mock.calls.filter(([stream]) => stream === `email-${json.id}`)).toHaveLength(1);
    } finally {
      read.mockRestore();
    }
  });

  test("show the sending key to sessions that may read keys, and link a suppression to its list", async () => {
    const { json } = await tenant.send(newKey(), message({ to: "suppressed@simulator.test" }));
    const { html } = await visitor.get(`/messages/${json.id}`);
    expect(html).toContain("By API key test.");
    expect(html).toContain('href="/dashboard/suppressions?address=suppressed%40simulator.test"');
    const reader = await logIn(service.url, (await tenant.withKey({ scopes: ["email:read"] })).apiKey);
    const seen = (await reader.get(`/messages/${json.id}`)).html;
    expect(seen).toContain(`By API key ${tenant.keyId}.`);
    expect(seen).not.toContain("/suppressions?");
  });

  test("that are scheduled can be moved or sent now, and an invalid time is reported", async () => {
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 16);
    const { json } = await tenant.send(newKey(), message({ scheduled_at: `${day(2)}:00Z` }));
    const at = `/messages/${json.id}`;
    const shown = (await visitor.get(at)).html;
    for (const text of ["Scheduled", "Send now", "Reschedule…", "To be sent at"])
      expect(shown).toContain(text);
    expect((await visitor.get(`${at}/reschedule`)).html).toContain(`value="${day(2)}"`);
    const late = await visitor.post(`${at}/reschedule`, { scheduled_at: day(31) });
    expect({ status: late.status, html: late.html }).toMatchObject({
      status: 422,
      html: expect.stringContaining("It must be at most 30 days ahead."),
    });
    expect((await visitor.post(`${at}/reschedule`, { scheduled_at: "soon" })).html).toContain(
      "It must be a day and a time.",
    );
    const time = day(3);
    expect((await visitor.post(`${at}/reschedule`, { scheduled_at: time })).location).toBe(`/dashboard${at}`);
    const email = async () => (await tenant.call("GET", `/api/v1/emails/${json.id}`)).json;
    expect(await email()).toMatchObject({ status: "scheduled", scheduled_at: `${time}:00.000Z` });
    expect((await visitor.get(at)).html).toContain("Rescheduled");
    expect((await visitor.post(`${at}/send-now`)).status).toBe(303);
    expect(Date.parse((await email()).scheduled_at)).toBeLessThanOrEqual(Date.now());
  });

  test("with a deadline are rescheduled to no time from then on, and the form says until when", async () => {
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 16);
    const deadline = `${day(3)}:00.000Z`;
    const body = message({ scheduled_at: `${day(2)}:00Z`, deliver_before: deadline });
    const { json } = await tenant.send(newKey(), body);
    const at = `/messages/${json.id}`;
    expect((await visitor.get(at)).html).toContain("Deliver before");
    expect((await visitor.get(`${at}/reschedule`)).html).toContain(`before ${day(3).replace("T", " ")} UTC`);
    const late = await visitor.post(`${at}/reschedule`, { scheduled_at: day(3) });
    expect({ status: late.status, html: late.html }).toMatchObject({
      status: 422,
      html: expect.stringContaining("It must be before the deliver_before of the message."),
    });
    expect((await visitor.post(`${at}/reschedule`, { scheduled_at: day(2.5) })).status).toBe(303);
  });

  test("another workspace's are not there", async () => {
    const other = await service.tenant();
    const otherVisitor = await logIn(service.url, other.apiKey);
    for (const path of [
      "",
      "/timeline",
      "/body.html",
      "/source.eml",
      "/files/0",
      "/erase",
      "/cancel",
      "/send-again",
      "/reschedule",
    ])
      expect((await otherVisitor.get(`/messages/${samples.bounced}${path}`)).status).toBe(404);
    for (const path of ["/erase", "/cancel", "/try-now", "/reschedule", "/send-now"])
      expect((await otherVisitor.post(`/messages/${samples.bounced}${path}`)).status).toBe(404);
    const otherCopy = await otherVisitor.post(`/messages/${samples.bounced}/send-again`, {
      to: "a@example.com",
      nonce: crypto.randomUUID(),
    });
    expect(otherCopy.status).toBe(404);
    expect((await otherVisitor.get(`/live/messages/${samples.bounced}`)).status).toBe(404);
    const rows = await otherVisitor.get(`/messages/rows?ids=${samples.bounced}`);
    expect(rowsIn(rows.html)).toEqual([]);
  });

  test("what somebody does is in the log as the key's, as from the API", async () => {
    const { status, json } = await tenant.send(newKey(), message());
    expect(status).toBe(202);
    const readEvents = () => service.log.store.read(`email-${json.id}`, 1, 10);
    // Each step is checked by itself: an erasure also cancels, so it would hide that the message was not canceled.
    for (const [action, type] of [
      ["cancel", "EmailCanceled"],
      ["erase", "EmailContentErased"],
    ] as const) {
      const answer = await visitor.post(`/messages/${json.id}/${action}`);
      expect({ status: answer.status, location: answer.location }).toEqual({
        status: 303,
        location: `/dashboard/messages/${json.id}`,
      });
      expect((await readEvents()).at(-1)).toMatchObject({ type });
    }
    const actors = (await readEvents()).map(({ type, metadata }) => `${type} ${metadata.actor}`);
    expect(actors).toEqual([
      `EmailQueued api-key:${tenant.keyId}`,
      `EmailCanceled api-key:${tenant.keyId}`,
      `EmailContentErased api-key:${tenant.keyId}`,
    ]);
  });

  test("one is sent again once, however often its form is sent, and named by the new one's key", async () => {
    const nonce = crypto.randomUUID();
    const send = (to: string) => visitor.post(`/messages/${samples.bounced}/send-again`, { to, nonce });
    const [first, second] = [await send("ben@example.org"), await send("ben@example.org")];
    expect(first.status).toBe(303);
    expect(second.location).toBe(first.location);
    expect(
      await tenant.call("GET", `/api/v1/emails?idempotency_key=again:${samples.bounced}:${nonce}`),
    ).toMatchObject({
      json: { data: [{ to: "ben@example.org" }] },
    });
    const other = await send("eve@example.org");
    expect({ status: other.status, told: other.html.includes("used already") }).toEqual({
      status: 422,
      told: true,
    });
    const invalid = await send("nobody");
    expect(invalid.status).toBe(422);
  });

  test("one whose recipient is suppressed since says so, before it is sent again as well", async () => {
    const own = await service.tenant();
    const session = await logIn(service.url, own.apiKey);
    const { json } = await own.send(newKey(), message());
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" } },
      {
        type: "EmailBounced",
        data: { attempt: 1, reason: "recipient_address_rejected", reply: "550 5.1.1" },
      },
    );
    const pages = async () => {
      const pagesShown = [`/messages/${json.id}`, `/messages/${json.id}/send-again`].map((path) =>
        session.get(path),
      );
      return (await Promise.all(pagesShown)).map(({ html }) => /suppressed since/.test(html));
    };
    expect(await pages()).toEqual([false, false]);
    await own.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
    expect(await pages()).toEqual([true, true]);
    expect((await session.get(`/messages/${json.id}`)).html).toContain(
      "/suppressions?address=ana%40example.com",
    );
    await own.call("DELETE", "/api/v1/suppressions/ana%40example.com");
    expect(await pages()).toEqual([false, false]);
  });

  test("one whose files have expired does not offer to be sent again, and says why", async () => {
    const file = { filename: "terms.txt", content_type: "text/plain", content: btoa("Thank you.") };
    const { json } = await tenant.send(newKey(), message({ attachments: [file] }));
    const at = `/messages/${json.id}`;
    const link = `href="/dashboard${at}/send-again"`;
    expect((await visitor.get(at)).html).toContain(link);
    expect((await visitor.get(`${at}/send-again`)).status).toBe(200);
    await service.log.content.removeOwner({ workspaceId: tenant.workspaceId, ownerId: json.id });
    await service.addEmailEvents(
      json.id,
      { type: "EmailCanceled", data: {} },
      { type: "EmailAttachmentsExpired", data: {} },
    );
    const { html } = await visitor.get(at);
    expect(html).not.toContain(link);
    expect(html).not.toContain("source.eml");
    const why = "its files have expired.";
    expect(html).toContain(`Cannot be sent again: ${why}`);
    const fields = { to: "ana@example.com", nonce: crypto.randomUUID() };
    for (const answer of [
      await visitor.get(`${at}/send-again`),
      await visitor.post(`${at}/send-again`, fields),
    ]) {
      expect(answer.status).toBe(404);
      expect(answer.html.toLowerCase()).toContain(`the message cannot be sent again: ${why}`);
    }
  });

  test("to send all again is asked about in a sentence", async () => {
    const words = async (path: string) =>
      (await visitor.get(path)).html.replace(/<[^>]*>/g, "").replace(/\s+/g, " ");
    expect(await words("/messages/send-again?q=status%3Asent")).toContain(
      "Every message that matches status:sent and was accepted before now is sent once more",
    );
  });

  test("all that match are sent again, once, and not what came of it", async () => {
    const own = await service.tenant();
    const session = await logIn(service.url, own.apiKey);
    const ids = new Set<string>();
    for (let nth = 0; nth < 3; nth += 1) ids.add((await own.send(newKey(), message())).json.id);
    const count = async () => (await own.call("GET", "/api/v1/emails")).json.data.length;
    await until(async () => (await count()) === 3, "the list");
    const ask = () => session.get("/messages/send-again?q=to%3Aana%40example.com");
    const answerTo = async (fields: Readonly<Record<string, string>>) =>
      (await session.post("/messages/send-again", fields)).html;
    const asked = (await ask()).html;
    expect(asked).toContain("Send 3 messages again?");
    expect(asked).toContain("as rendered then, not with the present template");
    const atOnce = await Promise.all([asked, (await ask()).html].map((form) => answerTo(fieldsOf(form))));
    // Where the second one is late, it finds them sent.
    const numbers = atOnce.map((answer) => /(\d+) messages were sent again/.exec(answer)?.[1]);
    expect(numbers).toContain("3");
    for (const number of numbers) expect(["0", "3"]).toContain(number as string);
    await until(async () => (await count()) === 6, "the new messages in the list");
    // Neither the same form nor the page when it is opened again repeats them, or what came of them.
    expect(await answerTo(fieldsOf(asked))).toContain("0 messages were sent again");
    const askedAgain = (await ask()).html;
    expect(askedAgain).toContain("Send 0 messages again?");
    expect(askedAgain).toContain("6 messages match.");
    expect(await answerTo(fieldsOf(askedAgain))).toContain("0 messages were sent again");
    expect(await count()).toBe(6);
    const all = { ...fieldsOf(askedAgain), all: "true" };
    expect(await answerTo(all)).toContain("6 messages were sent again");
    await until(async () => (await count()) === 12, "all twelve in the list");
  });

  test("one that was sent again to somebody else alone still counts as not sent again", async () => {
    const own = await service.tenant();
    const session = await logIn(service.url, own.apiKey);
    const { id } = (await own.send(newKey(), message())).json;
    const body = { to: "support@example.com" };
    const headers = { "idempotency-key": newKey() };
    const again = (await own.call("POST", `/api/v1/emails/${id}/send-again`, { body, headers })).json;
    await until(
      async () => (await own.call("GET", "/api/v1/emails")).json.data.length === 2,
      "both in the list",
    );
    const { html } = await session.get("/messages/send-again?q=status%3Aqueued");
    expect(html).toContain("Send 1 message again?");
    expect((await session.get(`/messages/${again.id}`)).html).toContain(`href="/dashboard/messages/${id}"`);
  });

  test("all that match and wait are canceled, and the rest is said", async () => {
    const own = await service.tenant();
    const session = await logIn(service.url, own.apiKey);
    const ids: string[] = [];
    for (let nth = 0; nth < 4; nth += 1) ids.push((await own.send(newKey(), message())).json.id);
    const [sending = "", lost = ""] = ids;
    const started = { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" };
    const wait = { attempt: 1, reason: "connection_lost", attemptBurnt: true, ambiguous: true };
    const nextAttemptAt = "2090-01-01T00:00:00Z";
    for (const id of [sending, lost])
      await service.addEmailEvents(id, { type: "EmailDeliveryStarted", data: started });
    await service.addEmailEvents(lost, { type: "EmailDeferred", data: { ...wait, nextAttemptAt } });
    const statuses = async () =>
      (await own.call("GET", "/api/v1/emails")).json.data.map(({ status }: { status: string }) => status);
    await until(async () => (await statuses()).includes("deferred"), "the list");
    const list = (await session.get("/messages?q=to%3Aana%40example.com")).html;
    expect(list).toContain('href="/dashboard/messages/cancel?q=to%3Aana%40example.com"');
    const { html } = await session.get("/messages/cancel?q=to%3Aana%40example.com");
    expect(html).toContain("Cancel 3 messages?");
    expect(html).toContain("4 messages match ");
    // As a later step.
    const done = (await session.post("/messages/cancel", { ...fieldsOf(html), done: "1000" })).html;
    expect(done).toContain("2 messages were canceled, 1,002 in all; 1 could not be.");
    expect(done).toContain(`${lost}</a>: the relay may have it`);
    await until(async () => (await statuses()).join() === "canceled,canceled,deferred,sending", "the end");
    const reader = await logIn(service.url, (await own.withKey({ scopes: ["email:status"] })).apiKey);
    const nobody = (await session.get("/messages/cancel?q=to%3Anobody%40example.com")).html;
    expect(nobody).toContain("Nothing waits to be canceled");
    expect(nobody).not.toContain("Cancel the messages");
    expect((await reader.get("/messages?q=to%3Aana%40example.com")).html).not.toContain("/messages/cancel");
    expect((await reader.get("/messages/cancel?q=to%3Aana%40example.com")).status).toBe(403);
    const sender = await logIn(service.url, (await own.withKey({ scopes: ["email:send"] })).apiKey);
    expect((await sender.get("/messages/cancel?q=to%3Aana%40example.com")).status).toBe(403);
  });

  test("leave as CSV, all of them, and nothing in it is a formula", async () => {
    const own = await service.tenant();
    for (const subject of ["=HYPERLINK(1)", 'Quoted "and", with a comma', "plain"])
      await own.send(newKey(), message({ subject }));
    const session = await logIn(service.url, own.apiKey);
    await until(async () => rowsIn((await session.get("/messages")).html).length === 3, "the list");
    const { headers, html: text } = await session.get("/messages.csv");
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const lines = text.trimEnd().split("\r\n");
    expect(lines[0]).toBe(
      "id,status,created_at,updated_at,from,to,subject,template_id,attempts,reason,template_version_id,api_key_id",
    );
    expect(lines).toHaveLength(4);
    expect(text).toContain(",'=HYPERLINK(1),");
    expect(text).toContain(',"Quoted ""and"", with a comma",');
    expect((await visitor.get("/messages.csv")).html.trimEnd().split("\r\n").length).toBeGreaterThan(SAMPLES);
  });

  test("in CSV have the reason of their status, not of the erasure of their content", async () => {
    const own = await service.tenant();
    const { json } = await own.send(newKey(), message());
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" } },
      { type: "EmailBounced", data: { attempt: 1, reason: "mailbox_full" } },
    );
    expect((await own.call("DELETE", `/api/v1/emails/${json.id}/content`)).status).toBe(200);
    const session = await logIn(service.url, own.apiKey);
    await until(async () => rowsIn((await session.get("/messages")).html).length === 1, "the list");
    const { html: text } = await session.get("/messages.csv");
    expect(text.trimEnd().split("\r\n")[1]?.split(",")[9]).toBe("mailbox_full");
  });

  test("what the caller has set stands below headings of its own, whatever its names are", async () => {
    const own = { "X-Status": "delivered" };
    const metadata = { From: "somebody", Status: "delivered", Attempts: "99" };
    const { json } = await tenant.send(newKey(), message({ headers: own, metadata }));
    const { html } = await visitor.get(`/messages/${json.id}`);
    const [facts = "", ownHeaders = "", metadataFacts = ""] = html.split(
      /<h2 id="(?:own-headers|metadata)">/,
    );
    for (const name of ["From", "Attempts"]) expect(facts.split(`<dt>${name}</dt>`)).toHaveLength(2);
    expect(facts).not.toContain("<dt>Status</dt>");
    expect(ownHeaders).toMatch(
      /^Your headers<.*<dt>X-Status<\/dt><dd>delivered<.*aria-labelledby="metadata">$/s,
    );
    expect(metadataFacts).toMatch(
      /^Metadata<.*<dt>From<\/dt><dd><a [^>]*>somebody<.*<dt>Attempts<\/dt><dd><a [^>]*>99</s,
    );
  });

  test("a question's way out cannot be taken for the cancellation", async () => {
    const { html } = await visitor.get(`/messages/${samples.deferred}/cancel`);
    expect(html).toContain("Cancel this message?");
    expect(html).toMatch(/data-close="true"[^>]*>Back<\/a>/);
    expect(html).not.toMatch(/>\s*Cancel\s*</);
  });

  test("hostile content is text wherever it is shown", async () => {
    const { json } = await tenant.send(
      newKey(),
      message({
        subject: HOSTILE,
        text: HOSTILE,
        html: HOSTILE,
        from_name: HOSTILE,
        to_name: HOSTILE,
        reply_to: "desk@example.com",
        reply_to_name: HOSTILE,
        metadata: { [HOSTILE.slice(0, 60)]: HOSTILE },
      }),
    );
    const started = { attempt: 1, worker: HOSTILE, leaseMs: 1_000, transport: HOSTILE };
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: started },
      { type: "EmailBounced", data: { attempt: 1, reason: HOSTILE, reply: HOSTILE } },
    );
    await until(async () => rowsIn((await search("status:bounced")).html).includes(json.id), "the list");
    for (const path of [
      "/",
      "/messages",
      "/outbox",
      `/outbox?open=${json.id}`,
      `/messages/${json.id}`,
      `/messages/${json.id}?show=text`,
      `/messages/${json.id}?show=headers`,
      `/messages/${json.id}/erase`,
      `/messages/${json.id}/send-again`,
      `/messages?q=${encodeURIComponent(HOSTILE)}`,
    ]) {
      const { html } = await visitor.get(path);
      expect({ path, html }).not.toMatchObject({
        html: expect.stringMatching(/<script>|<img|onerror=alert\(1\)>\s*</),
      });
    }
  });

  test("a key that is bound to senders acts on their messages alone", async () => {
    const bound = await tenant.call("POST", "/api/v1/api-keys", {
      body: { name: "bound", scopes: ["email:send", "email:read"], senders: ["other@example.com"] },
    });
    const session = await logIn(service.url, bound.json.key);
    for (const path of ["cancel", "erase", "try-now"])
      expect((await session.post(`/messages/${samples.queued}/${path}`)).status).toBe(403);
  });
});

describe("the words of a search", () => {
  test("a Message-ID may have the name of its header before it", () => {
    const id = crypto.randomUUID();
    expect(parseSearch(`Message-Id: <${id}@example.com>`)).toMatchObject({ id, words: {}, faults: [] });
  });

  test.each([
    ["to:ana@example.com status:sent", { to: "ana@example.com", status: "sent" }],
    ['key:"my key 1" TO:ana@example.com', { to: "ana@example.com", key: "my key 1" }],
    ["ana@example.com", { to: "ana@example.com" }],
    ["status:sent status:failed", { status: "sent,failed" }],
    ["", {}],
  ])("%p are read, and written as they were", (text, words) => {
    const read = parseSearch(text);
    expect(read.words).toEqual(words);
    expect(parseSearch(searchText(read.words)).words).toEqual(words);
  });
});

describe("a file of CSV", () => {
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  test("goes on past pages on which nothing is found", async () => {
    let ended = 0;
    const pages = [[], ["a"], [], [], ["b"], []];
    const stream = csvStream<string>({
      columns: { name: (row) => row },
      onEnd() {
        ended += 1;
      },
      isAllowed: async () => true,
      async page(cursor) {
        const at = Number(cursor ?? 0);
        return { shown: pages[at] ?? [], nextCursor: at + 1 < pages.length ? String(at + 1) : null };
      },
    });
    expect(await new Response(stream).text()).toBe("name\r\na\r\nb\r\n");
    expect(ended).toBe(1);
  });

  test("ends when nobody takes it any more, also where nothing is found", async () => {
    let queries = 0;
    let ended = 0;
    const left = Promise.withResolvers<void>();
    const stream = csvStream<string>({
      columns: { name: (row) => row },
      onEnd() {
        ended += 1;
      },
      isAllowed: async () => true,
      async page() {
        queries += 1;
        if (queries === 3) left.resolve();
        await nextTurn();
        return { shown: [], nextCursor: "on" };
      },
    });
    const reader = stream.getReader();
    await reader.read();
    void reader.read();
    await left.promise;
    await reader.cancel();
    const then = queries;
    for (let turns = 0; turns < 10; turns += 1) await nextTurn();
    expect(queries).toBeLessThanOrEqual(then + 1);
    expect(ended).toBe(1);
  });
});
