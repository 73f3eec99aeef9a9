import { beforeAll, expect, test } from "bun:test";
import { SCOPES, type Scope } from "../../src/domain/apiKey/scopes.ts";
import { allDashboardRoutes } from "../../src/http/dashboard/frame/allDashboardRoutes.ts";
import type { DashboardOptions } from "../../src/http/dashboard/frame/dashboardOptions.ts";
import type { LiveStreams } from "../../src/http/dashboard/live/liveStreams.ts";
import { type Route, routes } from "../../src/http/server/routes.ts";
import { logIn } from "../support/dashboard.ts";
import { crawlDashboard } from "../support/hostileContent.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { stub } from "../support/stub.ts";
import { message, newKey, SENDER, type Tenant } from "../support/tenants.ts";
import { until } from "../support/until.ts";

/** In everything that a message says, and nowhere else. */
const SECRET = "q7mfzkw2";
const TO = "ana@example.org";
const FILE = { filename: `${SECRET}.txt`, content_type: "text/plain", content: btoa(`Secret ${SECRET}`) };
const CONTENT = {
  to: TO,
  subject: `Your code ${SECRET}`,
  html: `<p>${SECRET} <img src="cid:${SECRET}"></p>`,
  text: `Your code is ${SECRET}`,
  headers: { "X-Link": `https://shop.example/reset/${SECRET}` },
  metadata: { link: SECRET, [SECRET]: true },
  tags: ["codes"],
  attachments: [{ ...FILE, content_id: SECRET }],
};

const { service, tenant } = serviceFixture(sqliteStore);
/** The values of path parameters, by the noun of the path. */
let ids: Readonly<Record<string, readonly string[]>>;

const post = async (path: string, body: object): Promise<string> => {
  const { status, json } = await tenant.call("POST", path, { body });
  expect({ path, json, isAccepted: status < 300 }).toMatchObject({ path, isAccepted: true });
  return json.id;
};

async function templateWithVariable(): Promise<readonly string[]> {
  const template = await post("/api/v1/templates", { name: "Code" });
  const versions = `/api/v1/templates/${template}/versions`;
  const variables = [{ name: "code", type: "string", required: true }];
  const draft = { subject: "Code {{ code }}", text: "{{ code }}", variables };
  const version = await post(versions, draft);
  await post(`${versions}/${version}/publish`, {});
  return [template, version];
}

/** Messages whose secret is in every part of what they say, in several states, with the deliveries of their events. */
beforeAll(async () => {
  const url = "https://hooks.example.com/status";
  const endpoint = await post("/webhooks", { url, include: ["from", "to", "subject"] });
  const templates = await templateWithVariable();
  const upload = await post("/api/v1/attachments", {
    ...FILE,
    filename: "terms.txt",
    content: btoa("Terms"),
  });
  const isReady = async () =>
    (await tenant.call("GET", `/api/v1/attachments/${upload}`)).json.status === "ready";
  await until(isReady, "the upload");
  const send = async (body: object) => (await tenant.send(newKey(), body)).json.id as string;
  const refused = await send(message(CONTENT));
  const reply = `550 5.7.1 <recipient>: the link https://shop.example/reset/${SECRET} is listed`;
  await service.addEmailEvents(
    refused,
    {
      type: "EmailDeliveryStarted",
      data: { attempt: 1, worker: "test", leaseMs: 60_000, transport: "smtp" },
    },
    {
      type: "EmailBounced",
      data: { attempt: 1, reason: "policy_rejected", code: 550, enhancedCode: "5.7.1", reply },
    },
  );
  const waiting = await send(message({ ...CONTENT, scheduled_at: new Date(Date.now() + 86_400_000) }));
  const templated = await send({
    from: SENDER,
    to: TO,
    template_id: templates[0],
    variables: { code: SECRET },
    attachments: [upload],
  });
  const suppressed = "eva@example.org";
  await tenant.call("POST", "/api/v1/suppressions", { body: { address: suppressed } });
  const erasure = await post("/api/v1/erasures", { address: "nobody@example.org" });
  const deliveries = async () =>
    (await tenant.call("GET", `/webhooks/${endpoint}/deliveries?email_id=${refused}`)).json.data;
  await until(async () => (await deliveries()).length === 2, "the deliveries");
  const [bounced] = (await deliveries()) as readonly { readonly id: string }[];
  ids = {
    emails: [refused],
    waiting: [waiting],
    templated: [templated],
    templates,
    attachments: [upload],
    suppressions: [suppressed],
    senders: [(await tenant.call("GET", "/api/v1/senders")).json.data[0].id],
    erasures: [erasure],
    "api-keys": [tenant.keyId],
    webhooks: [endpoint, bounced?.id ?? ""],
  };
});

function pathWith(path: string, idsOf = ids): string {
  const noun = path.split("/").find((part) => part in idsOf) ?? "";
  const rest = [...(idsOf[noun] ?? [])];
  return path.replace(/:[a-zA-Z_]+/g, () => encodeURIComponent(rest.shift() ?? "0"));
}

const apiReads = Object.values<Route>(routes).filter(
  ({ method, scope }) => method === "GET" && scope !== null,
);
const pages = allDashboardRoutes(stub() as DashboardOptions, stub() as LiveStreams).filter(
  ({ method, path }) => method === "GET" && !path.startsWith("/live"),
);

/** Every answer to a GET of this key over the API, by its path. */
async function apiAnswers(caller: Tenant): Promise<ReadonlyMap<string, string>> {
  const paths = [
    ...apiReads.map(({ path }) => pathWith(path)),
    ...[ids.waiting, ids.templated].map((id) => `/api/v1/emails/${id}`),
    `/api/v1/emails/${ids.emails}?as_of=${new Date().toISOString()}`,
    `/api/v1/emails?to=${TO}&status=bounced`,
    "/api/v1/usage?group_by=tag",
  ];
  const answers = new Map<string, string>();
  for (const path of paths) {
    const { status, text } = await caller.call("GET", path);
    expect({ path, status, text }).not.toMatchObject({ status: 500 });
    answers.set(path, `${status} ${text}`);
  }
  return answers;
}

/** Every answer to a GET of this key in the dashboard, by its path: links that it follows, and all routes. */
async function dashboardAnswers(caller: Tenant): Promise<ReadonlyMap<string, string>> {
  const visitor = await logIn(service.url, caller.apiKey);
  const messages = [ids.emails, ids.waiting, ids.templated].map((id) => `/messages/${id}`);
  const paths = new Set([
    ...pages.map(({ path }) => pathWith(path, { ...ids, messages: [...(ids.emails ?? []), "0"] })),
    ...messages.flatMap((at) => [
      at,
      ...["html", "text", "headers", "files"].map((part) => `${at}?show=${part}`),
      ...["body.html", "source.eml", "files/0", "send-again", "reschedule", "cancel", "erase"].map(
        (part) => `${at}/${part}`,
      ),
    ]),
    `/messages/rows?ids=${[ids.emails, ids.waiting, ids.templated].join()}`,
    `/messages?q=to:${TO}`,
    `/outbox?open=${ids.emails}`,
  ]);
  // Of what is no page the crawl keeps the address alone.
  const crawled = [...(await crawlDashboard(visitor))].filter(([, html]) => html !== "");
  const answers = new Map(crawled);
  for (const path of paths) {
    const { status, html, headers } = await visitor.get(path);
    expect({ path, status }).not.toMatchObject({ status: 500 });
    answers.set(path, `${status} ${html} ${JSON.stringify([...headers])}`);
  }
  return answers;
}

const namesSecret = (answers: ReadonlyMap<string, string>) =>
  [...answers].filter(([, answer]) => answer.includes(SECRET)).map(([path]) => path);

/** Every other scope too: what they show must not be a way around. */
const WITHOUT_READ = SCOPES.filter((scope) => scope !== "email:read");

test.each<[string, readonly Scope[]]>([
  ["email:status alone", ["email:status"]],
  ["every scope but email:read", WITHOUT_READ],
])("no answer to a key with %s has a word of what a message says", async (_, scopes) => {
  const key = await tenant.withKey({ scopes });
  const api = await apiAnswers(key);
  expect(namesSecret(api)).toEqual([]);
  const dashboard = await dashboardAnswers(key);
  expect(namesSecret(dashboard)).toEqual([]);
  // It is not for want of an answer.
  for (const path of [`/api/v1/emails/${ids.emails}`, "/api/v1/emails"]) {
    expect(api.get(path)).toStartWith("200 ");
    expect(api.get(path)).toContain(TO);
  }
  const at = `/messages/${ids.emails}`;
  for (const path of ["/messages", at, `${at}?show=files`, "/messages.csv", "/"]) {
    expect(dashboard.get(path)).toStartWith("200 ");
    expect(dashboard.get(path)).toContain(TO);
  }
  expect(dashboard.get(at)).toContain("550 5.7.1");
});

test("the same walk finds what messages say with a key that may read them", async () => {
  const found = [...namesSecret(await apiAnswers(tenant)), ...namesSecret(await dashboardAnswers(tenant))];
  const at = `/messages/${ids.emails}`;
  const [endpoint, delivery] = ids.webhooks ?? [];
  const wanted = [
    `/api/v1/emails/${ids.emails}`,
    "/api/v1/emails",
    `/webhooks/${endpoint}/deliveries/${delivery}`,
    ...["/messages", "/messages.csv", at, `${at}/body.html`, `${at}/source.eml`, `${at}?show=files`],
  ];
  expect(wanted.filter((path) => !found.includes(path))).toEqual([]);
});

test("the answers to actions have none either", async () => {
  const key = await tenant.withKey({ scopes: WITHOUT_READ });
  const at = (id: string) => `/api/v1/emails/${id}`;
  const scheduled = async () =>
    (await tenant.send(newKey(), message({ ...CONTENT, scheduled_at: later() }))).json.id;
  const later = () => new Date(Date.now() + 86_400_000).toISOString();
  const [endpoint, delivery] = ids.webhooks ?? [];
  const asked: readonly (readonly [string, string, object?])[] = [
    ["POST", `${at(await scheduled())}/cancel`],
    ["POST", `${at(await scheduled())}/reschedule`, { scheduled_at: later() }],
    ["POST", `${at(await scheduled())}/try-now`],
    ["POST", `${at(await scheduled())}/send-again`],
    ["DELETE", `${at(await scheduled())}/content`],
    ["POST", `/webhooks/${endpoint}/deliveries/${delivery}/retry`],
  ];
  for (const [method, path, body] of asked) {
    const headers = { "idempotency-key": newKey() };
    const { status, text } = await key.call(method, path, { headers, ...(body ? { body } : {}) });
    expect({ path, status: status < 300 ? "done" : text }).toEqual({ path, status: "done" });
    expect({ path, text }).toEqual({ path, text: expect.not.stringContaining(SECRET) });
  }
});

test("what is withheld is null, and all that says what became of a message is there", async () => {
  const key = await tenant.withKey({ scopes: ["email:status"] });
  const read = async (as: Tenant) => (await as.call("GET", `/api/v1/emails/${ids.emails}`)).json;
  const [whole, shown] = [await read(tenant), await read(key)];
  const { timeline, attachments, ...members } = whole;
  const withheld = { subject: null, html: null, text: null, headers: null, metadata: null };
  expect(shown).toEqual({
    ...members,
    ...withheld,
    attachments: [{ content_type: "text/plain", size_bytes: 15, filename: null, expired: false }],
    timeline: [...timeline.slice(0, -1), { ...timeline.at(-1), reply: "550 5.7.1" }],
  });
  expect(attachments).toMatchObject([{ filename: FILE.filename, content_id: SECRET }]);
  const [listed] = (await key.call("GET", "/api/v1/emails?status=bounced")).json.data;
  expect(listed).toMatchObject({ id: whole.id, from: SENDER, to: TO, subject: null });
  expect((await key.call("GET", "/api/v1/templates")).json.detail).toContain("template:manage");
  const sender = await tenant.withKey({ scopes: ["email:send"] });
  expect((await sender.call("GET", "/api/v1/emails")).json.detail).toContain("email:status or email:read");
});

test("a delivery's payload is shown as far as the key may see the message", async () => {
  const [endpoint, delivery] = ids.webhooks ?? [];
  const payloadFor = async (as: Tenant) =>
    (await as.call("GET", `/webhooks/${endpoint}/deliveries/${delivery}`)).json.payload;
  const { data, ...event } = await payloadFor(tenant);
  expect(data).toMatchObject({ from: SENDER, to: TO, subject: CONTENT.subject, metadata: CONTENT.metadata });
  const withheld = { subject: null, metadata: null, reply: "550 5.7.1" };
  const supporter = await tenant.withKey({ scopes: ["webhook:manage", "email:status"] });
  expect(await payloadFor(supporter)).toEqual({ ...event, data: { ...data, ...withheld } });
  const manager = await tenant.withKey({ scopes: ["webhook:manage"] });
  const hidden = { ...withheld, from: null, to: null };
  expect(await payloadFor(manager)).toEqual({ ...event, data: { ...data, ...hidden } });
});
