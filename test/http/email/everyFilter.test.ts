import { beforeAll, expect, test } from "bun:test";
import { messageIdOf } from "../../../src/domain/email/messageId.ts";
import { SEARCH_WORDS } from "../../../src/http/dashboard/email/emailSearch.ts";
import type { ListEmailsQuery } from "../../../src/http/email/emailOperations.ts";
import { newApiKey } from "../../../src/kernel/crypto/apiKeyFormat.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { faultsIn } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, SENDER } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const KEY = newKey();
const RECIPIENT = "ana@example.com";
const TAG = "receipts";
const ORDER = "4711";
const NOBODY = "nobody@example.com";
const [LONG_AGO, FAR_AHEAD] = ["2020-01-01T00:00:00Z", "2090-01-01T00:00:00Z"];

/** A value that finds the message, once that is sent, and one that does not. */
type Values = readonly [finds: () => string, misses: string];

/** Each filter of `GET /api/v1/emails`. */
const FILTERS: Readonly<Record<Exclude<keyof ListEmailsQuery, "limit" | "cursor">, Values>> = {
  idempotency_key: [() => KEY, newKey()],
  message_id: [() => messageIdOf(id, SENDER), messageIdOf(crypto.randomUUID(), SENDER)],
  status: [() => "bounced", "queued"],
  reason: [() => "mailbox_full", "no_route"],
  from: [() => SENDER, NOBODY],
  to: [() => RECIPIENT, NOBODY],
  template_id: [() => templateId, crypto.randomUUID()],
  template_version_id: [() => versionId, crypto.randomUUID()],
  api_key_id: [() => tenant.apiKey.slice(3, 15), newApiKey().id],
  tag: [() => TAG, "news"],
  metadata: [() => ORDER, "4712"],
  created_from: [() => LONG_AGO, FAR_AHEAD],
  created_before: [() => FAR_AHEAD, LONG_AGO],
};

/** The filters whose parameter is not their name. */
const PARAMETERS: Readonly<Record<string, string>> = { metadata: "metadata[order]" };

/** Each word of the dashboard's search. */
const WORDS: Readonly<Record<(typeof SEARCH_WORDS)[number], Values>> = {
  to: FILTERS.to,
  from: FILTERS.from,
  status: FILTERS.status,
  reason: FILTERS.reason,
  template: FILTERS.template_id,
  version: FILTERS.template_version_id,
  apikey: FILTERS.api_key_id,
  tag: FILTERS.tag,
  metadata: [() => `order=${ORDER}`, "order=4712"],
  after: FILTERS.created_from,
  before: FILTERS.created_before,
  key: FILTERS.idempotency_key,
};

const { service, tenant } = serviceFixture(sqliteStore);
let visitor: Visitor;
let templateId: string;
let versionId: string;
let id: string;
beforeAll(async () => {
  visitor = await logIn(service.url, tenant.apiKey);
  [templateId, versionId] = await publishedTemplate();
  const sent = await tenant.send(
    KEY,
    message({
      ...{ to: RECIPIENT, tags: [TAG], metadata: { order: ORDER } },
      ...{ subject: undefined, text: undefined, template_id: templateId },
    }),
  );
  id = sent.json.id;
  await service.addEmailEvents(
    id,
    { type: "EmailDeliveryStarted", data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "t" } },
    { type: "EmailBounced", data: { attempt: 1, reason: "mailbox_full", code: 552, reply: "552 5.2.2" } },
  );
  await until(async () => (await listed({ status: "bounced" })).length === 1, "the bounce to show");
});

async function publishedTemplate(): Promise<[id: string, versionId: string]> {
  const create = async (path: string, body?: object) => (await tenant.call("POST", path, { body })).json.id;
  const template = await create("/api/v1/templates", { name: "Receipt" });
  const versions = `/api/v1/templates/${template}/versions`;
  const version = await create(versions, { subject: "Receipt", text: "Paid", variables: [] });
  await create(`${versions}/${version}/publish`);
  return [template, version];
}

async function listed(query: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { status, json } = await tenant.call("GET", `/api/v1/emails?${new URLSearchParams(query)}`);
  expect(status).toBe(200);
  return json.data.map((email: { readonly id: string }) => email.id);
}

test.each(Object.entries(FILTERS))(
  "the list is filtered by %s, with an Idempotency-Key too",
  async (name, [known, misses]) => {
    const finds = known();
    const parameter = PARAMETERS[name] ?? name;
    expect(await listed({ [parameter]: finds })).toEqual([id]);
    expect(await listed({ [parameter]: misses })).toEqual([]);
    expect(await listed({ idempotency_key: KEY, [parameter]: finds })).toEqual([id]);
    expect(await listed({ idempotency_key: KEY, [parameter]: misses })).toEqual([]);
  },
);

test("a range of time holds its beginning and not its end, with an Idempotency-Key too", async () => {
  const { created_at } = (await tenant.call("GET", `/api/v1/emails/${id}`)).json;
  for (const key of [{}, { idempotency_key: KEY }]) {
    expect(await listed({ ...key, created_from: created_at })).toEqual([id]);
    expect(await listed({ ...key, created_before: created_at })).toEqual([]);
  }
});

test.each(SEARCH_WORDS)("the dashboard finds messages by %s:", async (word) => {
  const shows = async (value: string) => {
    const { html } = await visitor.get(`/messages?${new URLSearchParams({ q: `${word}:${value}` })}`);
    return html.includes(`/messages/${id}`);
  };
  const [finds, misses] = WORDS[word];
  expect(await shows(finds())).toBe(true);
  expect(await shows(misses)).toBe(false);
});

test.each(["status:queued,bounced", "reason:no_route,mailbox_full", 'reason:"no_route, mailbox_full"'])(
  "the dashboard finds messages by several values: %s",
  async (q) => {
    const { html } = await visitor.get(`/messages?${new URLSearchParams({ q })}`);
    expect(html).toContain(`/messages/${id}`);
    // The form for filters keeps them.
    expect(html).toContain(`<option value="${q.split(/:"?/)[1]?.replace('"', "")}" selected`);
  },
);

test("the ids of a template and its version may be given in upper case", async () => {
  expect(await listed({ template_id: templateId.toUpperCase() })).toEqual([id]);
  expect(await listed({ template_version_id: versionId.toUpperCase() })).toEqual([id]);
});

test("the list, the message, its timeline and the CSV file name the key and the version", async () => {
  const api_key_id = tenant.apiKey.slice(3, 15);
  const { data } = (await tenant.call("GET", "/api/v1/emails")).json;
  expect(data).toMatchObject([{ id, api_key_id }]);
  const { json } = await tenant.call("GET", `/api/v1/emails/${id}`);
  expect(json).toMatchObject({ api_key_id, template_version_id: versionId });
  const [, queued, started] = json.timeline;
  expect(queued).toMatchObject({ type: "queued", api_key_id });
  expect(started).not.toHaveProperty("api_key_id");
  const [names = "", row = ""] = (await visitor.get("/messages.csv")).html.split("\r\n");
  const cells = row.split(",");
  const cellOf = (name: string) => cells[names.split(",").indexOf(name)];
  expect([cellOf("template_version_id"), cellOf("api_key_id")]).toEqual([versionId, api_key_id]);
});

test.each([
  ["in brackets", () => messageIdOf(id, SENDER), true],
  ["without brackets", () => messageIdOf(id, SENDER).slice(1, -1), true],
  ["in upper case", () => messageIdOf(id, SENDER).toUpperCase(), true],
  ["of another program", () => "<CAF=x1@mail.example.org>", false],
  ["of another message", () => messageIdOf(crypto.randomUUID(), SENDER), false],
])(
  "a Message-ID finds the message by the list and by the dashboard's search: %s",
  async (_, text, isFound) => {
    expect(await listed({ message_id: text() })).toEqual(isFound ? [id] : []);
    const { location } = await visitor.get(`/messages?${new URLSearchParams({ q: ` ${text()} ` })}`);
    expect(location?.endsWith(`/messages/${id}`) ?? false).toBe(isFound);
  },
);

test("what has the form of a Message-ID may be the address of a recipient", async () => {
  const to = `${crypto.randomUUID()}@example.com`;
  const { json } = await tenant.send(newKey(), message({ to }));
  await until(
    async () =>
      (await visitor.get(`/messages?${new URLSearchParams({ q: to })}`)).html.includes(
        `/messages/${json.id}`,
      ),
    "the message to show",
  );
});

test("a key itself is refused where its id is wanted, and not repeated", async () => {
  const [fault] = faultsIn(await tenant.call("GET", `/api/v1/emails?api_key_id=${tenant.apiKey}`));
  expect(fault).toEqual({
    pointer: "/api_key_id",
    message: "must be the id of a key: 12 letters and digits",
  });
  const { status, html } = await visitor.get(`/messages?q=apikey:${tenant.apiKey}`);
  expect(status).toBe(422);
  expect(html).toContain("apikey: takes the id of an API key, not the key itself.");
});

test.each(Object.keys(FILTERS))("an empty %s is refused, and not left out", async (name) => {
  const { status, json } = await tenant.call("GET", `/api/v1/emails?${PARAMETERS[name] ?? name}=`);
  expect(status).toBe(400);
  expect(json.errors[0].pointer).toStartWith(`/${name}`);
});

const FORM = /^must have the form metadata\[name\]=value, with a name of 1 to 80 characters$/;

test.each([
  ["metadata=4711", "/metadata", FORM],
  ['metadata={"order":"4711"}', "/metadata", FORM],
  ["metadata_order=4711", "/metadata_order", FORM],
  ["metadata[]=4711", "/metadata[]", FORM],
  ["metadata[order=4711", "/metadata[order", FORM],
  ["metadata[order]x=4711", "/metadata[order]x", FORM],
  [`metadata[${"é".repeat(81)}]=4711`, `/metadata[${"é".repeat(81)}]`, FORM],
  ["metadata[order]=", "/metadata/order", /^must have 1 to 500 characters$/],
  [`metadata[order]=${"é".repeat(501)}`, "/metadata/order", /^must have 1 to 500 characters$/],
  [
    [1, 2, 3, 4, 5, 6].map((name) => `metadata[${name}]=x`).join("&"),
    "/metadata",
    /^must have at most 5 members$/,
  ],
])("metadata in another form is refused: %s", async (query, pointer, said) => {
  const [fault, ...others] = faultsIn(await tenant.call("GET", `/api/v1/emails?${encodeURI(query)}`));
  expect({ fault, others }).toEqual({
    fault: { pointer, message: expect.stringMatching(said) },
    others: [],
  });
});

test("a key that does not see metadata cannot search for it, by an Idempotency-Key or in the dashboard either", async () => {
  const blind = await tenant.withKey({ scopes: ["email:status"] });
  for (const key of ["", `&idempotency_key=${KEY}`]) {
    const { status, json } = await blind.call("GET", `/api/v1/emails?metadata[order]=${ORDER}${key}`);
    expect({ status, code: json.code, detail: json.detail }).toEqual({
      ...{ status: 403, code: "FORBIDDEN" },
      detail: "the filter metadata needs the scope email:read",
    });
  }
  const session = await logIn(service.url, blind.apiKey);
  const query = new URLSearchParams({ q: `metadata:order=${ORDER}` });
  const page = await session.get(`/messages?${query}`);
  expect(page.status).toBe(422);
  expect(page.html).toContain("metadata: needs a key with the scope email:read.");
  expect(page.html).not.toContain('name="metadata"');
  expect(page.html).not.toContain(`/messages/${id}`);
  expect((await session.get(`/messages.csv?${query}`)).status).toBe(400);
});

test("a value of metadata on a message's page leads to the messages that have it too", async () => {
  const links = async (metadata: object) => {
    const { json } = await tenant.send(newKey(), message({ metadata }));
    const { html } = await visitor.get(`/messages/${json.id}`);
    return [...html.matchAll(/q=(metadata[^"&]*)/g)].map(([, text = ""]) => decodeURIComponent(text));
  };
  expect(await links({ order: ORDER, paid: true, note: "two words" })).toEqual([
    "metadata:order=4711",
    "metadata:paid=true",
    'metadata:"note=two+words"',
  ]);
  // No search can name these.
  expect(await links({ 'a"': "b", "a=b": "c", empty: "", spaced: " x ", long: "🎩".repeat(500) })).toEqual(
    [],
  );
  const { html } = await visitor.get(
    `/messages.csv?${new URLSearchParams({ q: `metadata:order=${ORDER}` })}`,
  );
  expect(html).toContain(id);
});

test("spaces around an Idempotency-Key do not count, and a no-break space does, as in the header", async () => {
  expect(await listed({ idempotency_key: `  ${KEY} ` })).toEqual([id]);
  expect(await listed({ idempotency_key: `\u00a0${KEY}` })).toEqual([]);
  expect(await listed({ idempotency_key: `${KEY}\n` })).toEqual([]);
});
