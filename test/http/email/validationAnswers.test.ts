import { describe, expect, test } from "bun:test";
import { EMAIL_REASONS } from "../../../src/domain/email/emailReasons.ts";
import { EMAIL_STATUSES } from "../../../src/domain/email/state.ts";
import { WEBHOOK_EVENT_TYPES } from "../../../src/domain/webhookEventTypes.ts";
import { described } from "../../gate/documentedAnswers.ts";
import { direct, pdf } from "../../support/files/uploadFiles.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { keyHeaderFor, message, newKey } from "../../support/tenants.ts";

/** What came by way of which operation, and everything that is told of it. */
type Case = readonly [
  what: string,
  request: readonly [string, string, unknown?],
  faults: Record<string, string>,
];

const ID = "0b7c1f9e-5d3a-4c2b-8e1f-a9d8c7b6e5f4";
const send = (body: unknown): readonly [string, string, unknown] => ["POST", "/api/v1/emails", body];
const attached = (...attachments: readonly unknown[]) => send(message({ attachments }));
const { content: _, ...withoutContent } = direct(pdf());
const draft = (parts: Record<string, unknown>): readonly [string, string, unknown] => [
  "POST",
  `/api/v1/templates/${ID}/versions`,
  { subject: "s", text: "t", ...parts },
];
const ONE_RECIPIENT =
  "a message has one recipient. Send each person a message of their own: up to 100 fit into a batch";
const DATE_TIME = "must be a date-time as in RFC 3339: 2030-01-31T12:00:00Z";

const bodies: readonly Case[] = [
  [
    "nothing",
    send({}),
    {
      "/from": "is required",
      "/to": "is required",
      "/subject": "is required without template_id or template_alias",
      "/html": "is required without template_id or template_alias, unless text is given",
    },
  ],
  ["a list", send([]), { "": "must be an object" }],
  [
    "members of wrong types and wrong addresses at once",
    send(message({ to: "nobody", html: 7, reply_to: "a@", metadata: { a: null, b: [1] } })),
    {
      "/html": "must be a string",
      "/metadata/a": "must be a string or a number or true or false",
      "/metadata/b": "must be a string or a number or true or false",
      "/to": "must be one bare address such as ana@example.com",
      "/reply_to": "has a domain (after the @) that is not a fully qualified name",
    },
  ],
  [
    "lengths",
    send(message({ subject: "", from: `${"a".repeat(400)}@example.com` })),
    {
      "/subject": "must have 1 to 998 characters",
      "/from": "must have at most 320 characters",
    },
  ],
  [
    "a misspelt member",
    send(message({ subjet: "x", zzz: 1, idempotency_key: "order-4711" })),
    {
      "/subjet": "is not known here: did you mean subject?",
      "/zzz": "is not known here",
      "/idempotency_key": "is not known here: it goes into the header Idempotency-Key",
    },
  ],
  [
    "several recipients",
    send(
      message({ to: ["ana@example.com", "bo@example.com"], cc: "cy@example.com", bcc: ["di@example.com"] }),
    ),
    {
      "/to": `must be a string: ${ONE_RECIPIENT}`,
      "/cc": `is not known here: ${ONE_RECIPIENT}`,
      "/bcc": `is not known here: ${ONE_RECIPIENT}`,
    },
  ],
  [
    "several recipients in one text",
    send(message({ to: "ana@example.com; Bo <bo@example.com>" })),
    { "/to": `must be one bare address such as ana@example.com: ${ONE_RECIPIENT}` },
  ],
  [
    "content and variables under other names",
    send({ from: "hello@example.com", to: "ana@example.com", template_id: ID, body: "x", template_data: {} }),
    {
      "/body": "is not known here: did you mean text or html?",
      "/template_data": "is not known here: did you mean variables?",
    },
  ],
  ["a time as a number", send(message({ scheduled_at: 1_790_000_000 })), { "/scheduled_at": DATE_TIME }],
  [
    "a file that is somewhere else",
    attached({ ...direct(pdf()), path: "https://example.com/invoice.pdf" }),
    {
      "/attachments/0/path": "is not known here: files are not fetched; give the file's Base64 as content",
    },
  ],
  [
    "a file under another service's names",
    attached({ filename: "logo.png", contentType: "image/png", content: "x", inlineContentId: "logo" }),
    {
      "/attachments/0/content_type": "is required, because an object here is a file sent inline",
      "/attachments/0/contentType": "is not known here: did you mean content_type?",
      "/attachments/0/inlineContentId": "is not known here: did you mean content_id?",
    },
  ],
  [
    "members of another service's names",
    send({
      From: "hello@example.com",
      To: "ana@example.com",
      Subject: "x",
      HtmlBody: "y",
      TemplateAlias: "welcome",
      TemplateModel: {},
      MessageStream: "outbound",
      TrackOpens: true,
    }),
    {
      "/from": "is required",
      "/to": "is required",
      "/From": "is not known here: did you mean from?",
      "/To": "is not known here: did you mean to?",
      "/Subject": "is not known here: did you mean subject?",
      "/HtmlBody": "is not known here: did you mean html?",
      "/TemplateAlias": "is not known here: did you mean template_alias?",
      "/TemplateModel": "is not known here: did you mean variables?",
      "/MessageStream": "is not known here: a workspace is what comes closest; the API key says which",
      "/TrackOpens": "is not known here: opens are not tracked",
      "/subject": "is required without template_id or template_alias",
      "/html": "is required without template_id or template_alias, unless text is given",
    },
  ],
  [
    "headers in a list",
    send(message({ headers: [{ name: "X-Order", value: "4711" }] })),
    { "/headers": 'must be an object: names and values, such as { "X-Order": "4711" }' },
  ],
  [
    "tags with values",
    send(message({ tags: [{ name: "category", value: "welcome" }, 7] })),
    {
      "/tags/0": "must be a string: a tag is a word; names with values go into metadata",
      "/tags/1": "must be a string",
    },
  ],
  [
    "null for what may be left out",
    send(message({ html: null, template_id: null, scheduled_at: null, content_retention: null, tags: null })),
    Object.fromEntries(
      ["html", "template_id", "scheduled_at", "content_retention", "tags"].map((name) => [
        `/${name}`,
        "is null: leave it out",
      ]),
    ),
  ],
  ["null for what is required", send(message({ to: null })), { "/to": "must be a string" }],
  [
    "a list of addresses for replies",
    send(message({ reply_to: ["ana@example.com"] })),
    { "/reply_to": "must be a string: one address only" },
  ],
  ["a second @", send(message({ to: "ana@@example.com" })), { "/to": "has more than one @" }],
  [
    "two dots in a row",
    send(message({ to: "ana..b@example.com" })),
    { "/to": "has a local part (before the @) that begins or ends with a dot, or has two in a row" },
  ],
  [
    "the beginning of a member's name",
    send(message({ deliver: "2030-01-31T12:00:00Z" })),
    { "/deliver": "is not known here: did you mean deliver_before?" },
  ],
  [
    "a template as another service names it",
    send(message({ template: { id: ID, variables: {} } })),
    { "/template": "is not known here: did you mean template_id or template_alias?" },
  ],
  ["a draft without content", draft({ text: undefined }), { "/html": "is required, unless text is given" }],
  [
    "a query with an address that is none",
    ["GET", "/api/v1/emails?to=example.com"],
    { "/to": "must be one bare address such as ana@example.com" },
  ],
  [
    "an alias as an id",
    send(message({ template_id: "welcome" })),
    { "/template_id": "must be a UUID; the alias of a template goes into template_alias" },
  ],
  [
    "a version's id that is none",
    send(message({ template_id: ID, template_version_id: "3" })),
    { "/template_version_id": "must be a UUID" },
  ],
  [
    "times without an offset",
    send(message({ scheduled_at: "2030-01-31T12:00:00", deliver_before: "2030-02-30T12:00:00" })),
    { "/scheduled_at": "lacks Z or an offset such as +01:00", "/deliver_before": DATE_TIME },
  ],
  [
    "an attachment that is neither",
    attached(7),
    {
      "/attachments/0": "must be a string (the id of an upload) or an object (a file sent inline)",
    },
  ],
  [
    "the id of an upload that is none",
    attached("invoice.pdf"),
    {
      "/attachments/0": "must be a UUID, because a string here is the id of an upload",
    },
  ],
  [
    "a direct file that lacks members",
    attached(direct(pdf()), {}),
    {
      "/attachments/1/filename": "is required, because an object here is a file sent inline",
      "/attachments/1/content_type": "is required, because an object here is a file sent inline",
      "/attachments/1/content": "is required, because an object here is a file sent inline",
    },
  ],
  [
    "a direct file with a misspelt member",
    attached({ ...withoutContent, contents: "" }),
    {
      "/attachments/0/content": "is required, because an object here is a file sent inline",
      "/attachments/0/contents": "is not known here: did you mean content?",
    },
  ],
  [
    "a file name that is too long",
    attached({ ...direct(pdf()), filename: `${"a".repeat(300)}.pdf` }),
    {
      "/attachments/0/filename":
        "must have 1 to 255 characters, because an object here is a file sent inline",
    },
  ],
  ["a template without a name", ["POST", "/api/v1/templates", {}], { "/name": "is required" }],
  [
    "definitions of variables",
    draft({
      variables: [{ name: "a-b", type: "text" }, { type: "string", required: "yes", default: null }, 7],
    }),
    {
      "/variables/0/name":
        "must begin with a letter, and have only letters (a to z), digits and underscores, 80 in all",
      "/variables/0/type": "must be one of string, number, boolean, date, list, object",
      "/variables/1/name": "is required",
      "/variables/1/required": "must be true or false",
      "/variables/1/default": "is null: leave it out",
      "/variables/2": "must be an object",
    },
  ],
  [
    "more definitions than there may be",
    draft({ variables: Array.from({ length: 101 }, (_, at) => ({ name: `a${at}`, type: "string" })) }),
    {
      "/variables": "must hold at most 100 items",
    },
  ],
  [
    "an upload",
    ["POST", "/api/v1/attachments", { filename: "" }],
    {
      "/content_type": "is required",
      "/content": "is required",
      "/filename": "must have 1 to 255 characters",
    },
  ],
  [
    "a suppression",
    ["POST", "/api/v1/suppressions", { note: 7 }],
    {
      "/address": "is required",
      "/note": "must be a string or null",
    },
  ],
  [
    "a suppression with another service's names",
    ["POST", "/api/v1/suppressions", { email: "ana@example.com", reason: "bounce" }],
    {
      "/address": "is required",
      "/email": "is not known here: did you mean address?",
      "/reason": "is not known here: it is always manual; your own words go into note",
    },
  ],
  ["an erasure", ["POST", "/api/v1/erasures", {}], { "/address": "is required" }],
  [
    "an erasure by another name",
    ["POST", "/api/v1/erasures", { email: "ana@example.com" }],
    { "/address": "is required", "/email": "is not known here: did you mean address?" },
  ],
  [
    "a sender with another service's names",
    ["POST", "/api/v1/senders", { email: "ana@example.com", name: "example.com" }],
    {
      "": "must have exactly one of address and domain",
      "/email": "is not known here: did you mean address?",
      "/name": "is not known here: did you mean domain, or display_name?",
    },
  ],
  [
    "a key with another service's names",
    ["POST", "/api/v1/api-keys", { name: "n", permission: "sending_access", domain_id: ID }],
    {
      "/scopes": "is required",
      "/permission": "is not known here: scopes say what it may do",
      "/domain_id": "is not known here: did you mean senders?",
    },
  ],
  [
    "a template with its content",
    ["POST", "/api/v1/templates", { name: "n", html: "<p>" }],
    { "/html": "is not known here: it is part of a version: POST /api/v1/templates/{id}/versions" },
  ],
  [
    "a version with another service's names",
    ["POST", `/api/v1/templates/${ID}/versions`, { subject: "x", HtmlBody: "y" }],
    {
      "/HtmlBody": "is not known here: did you mean html?",
      "/html": "is required, unless text is given",
    },
  ],
  [
    "a batch by another name",
    ["POST", "/api/v1/emails/batch", { messages: [] }],
    { "/emails": "is required", "/messages": "is not known here: did you mean emails?" },
  ],
  [
    "a sender",
    ["POST", "/api/v1/senders", { address: 7, domain: "", display_name: "" }],
    {
      "": "must have exactly one of address and domain",
      "/address": "must be a string",
      "/domain": "must have 1 to 253 characters",
      "/display_name": "must have 1 to 200 characters",
    },
  ],
  [
    "how a sender is verified",
    ["POST", `/api/v1/senders/${"a".repeat(64)}/verification`, { method: "sms" }],
    {
      "/method": "must be one of email, dns",
    },
  ],
  [
    "a key",
    [
      "POST",
      "/api/v1/api-keys",
      { name: "n", scopes: ["email:sent", "email:read", "email:read"], expires_at: "soon" },
    ],
    {
      "/scopes": "must not contain duplicates",
      "/scopes/0":
        "must be one of email:send, email:read, email:status, webhook:manage, template:manage, attachment:manage, suppression:manage, feedback:write, sender:manage, workspace:manage",
      "/expires_at": DATE_TIME,
    },
  ],
  [
    "a key without scopes",
    ["POST", "/api/v1/api-keys", { name: "n", scopes: [] }],
    {
      "/scopes": "must hold 1 to 10 items",
    },
  ],
  [
    "a webhook endpoint",
    ["POST", "/webhooks", { event_types: [] }],
    {
      "/url": "is required",
      "/event_types": "must hold at least 1 item",
    },
  ],
  [
    "a webhook endpoint with another service's names",
    ["POST", "/webhooks", { endpoint: "https://example.com/", events: ["email.sent"] }],
    {
      "/url": "is required",
      "/endpoint": "is not known here: did you mean url?",
      "/events": "is not known here: did you mean event_types?",
    },
  ],
  [
    "types of events",
    ["POST", "/webhooks", { url: "https://example.com/", event_types: ["email.opened"] }],
    {
      "/event_types/0": `must be one of ${WEBHOOK_EVENT_TYPES.join(", ")}`,
    },
  ],
  ["a change of an endpoint", ["PATCH", `/webhooks/${ID}`, {}], { "": "must have at least one member" }],
  [
    "a rotation",
    ["POST", `/webhooks/${ID}/rotate-secret`, { overlap_seconds: -1 }],
    {
      "/overlap_seconds": "must be a whole number from 0 to 604800",
    },
  ],
  ["a recovery", ["POST", `/webhooks/${ID}/recover`, { since: 7 }], { "/since": DATE_TIME }],
];

const queries: readonly Case[] = [
  [
    "a list of messages",
    ["GET", "/api/v1/emails?limit=0&status=lost&sort=up"],
    {
      "/limit": "must be a whole number from 1 to 100",
      "/status":
        "must be one of scheduled, queued, sending, deferred, sent, delivered, bounced, complained, failed, suppressed, canceled, or several of them with commas between",
      "/sort": "is not known here",
    },
  ],
  [
    "pages by number",
    ["GET", "/api/v1/emails?page=2"],
    { "/page": "is not known here: for the next page, pass next_cursor of the page before as cursor" },
  ],
  ["a time", ["GET", "/api/v1/emails?created_from=yesterday"], { "/created_from": DATE_TIME }],
  ["a cursor", ["GET", "/api/v1/templates?cursor=x"], { "/cursor": "is not a next_cursor of this list" }],
  [
    "usage",
    ["GET", "/api/v1/usage?by=week&sender_id=me&template_id=1&group_by=to"],
    {
      "/by": "must be one of hour, day",
      "/sender_id": "must be the id of a sender: 64 digits 0 to 9 and letters a to f",
      "/template_id": "must be a UUID",
      "/group_by": "must be one of sender, template, tag",
    },
  ],
  [
    "a rotation",
    ["POST", `/webhooks/${ID}/rotate-secret?overlap_seconds=604801`],
    {
      "/overlap_seconds": "must be a whole number from 0 to 604800",
    },
  ],
  ["an endpoint's id", ["GET", "/webhooks/main"], { "/id": "must be a UUID" }],
];

describe("faults are reported in words:", () => {
  const { tenant } = serviceFixture(sqliteStore);

  test.each([...bodies, ...queries])("%s", async (_, [method, path, body], faults) => {
    const headers = keyHeaderFor(path);
    const answer = await tenant.call(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect({ status: answer.status, code: answer.json.code }).toEqual({
      status: 400,
      code: "INVALID_REQUEST",
    });
    const faultsShown = answer.json.errors.map((one: { pointer: string; message: string }) => [
      one.pointer,
      one.message,
    ]);
    expect(Object.fromEntries(faultsShown)).toEqual(faults);
    expect(faultsShown).toHaveLength(Object.keys(faults).length);
    const [[pointer, first] = ["", ""]] = Object.entries(faults);
    expect(answer.json.detail).toContain(
      faultsShown.length > 1
        ? `(and ${faultsShown.length - 1} more)`
        : pointer
          ? `${pointer}: ${first}`
          : `the body ${first}`,
    );
  });

  test.each([
    ["reason=no_route,mailbox_ful", "/reason: is not known here: did you mean mailbox_full?"],
    ["reason=full", "/reason: is not known here: did you mean mailbox_full?"],
    ["status=Bounced", "/status: is not known here: did you mean bounced?"],
    ["reason=nonsense", "/reason: has no such value: errors lists those there are"],
  ])("?%s is answered with the value that was meant, and lists all of them once", async (query, detail) => {
    const { status, json } = await tenant.call("GET", `/api/v1/emails?${query}`);
    expect([status, json.detail]).toEqual([400, detail]);
    const [{ message: words }] = json.errors;
    const values = query.startsWith("status") ? EMAIL_STATUSES : EMAIL_REASONS;
    expect(words).toContain(`ust be one of ${values.join(", ")}, or several of them with commas between`);
    if (detail.endsWith("?")) expect(words).toStartWith(detail.slice(detail.indexOf(" ") + 1));
  });

  test("those of a request with more than twenty count only those that are listed", async () => {
    const manyNames = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`name${index}`, null]));
    for (const body of [manyNames, { metadata: manyNames }]) {
      const { json } = await tenant.send(newKey(), body);
      expect(json.errors).toHaveLength(20);
      expect(json.detail).toContain("(and 19 more)");
    }
  });

  test.each(described)("no message of $name shows a pattern or a library's own words", async (one) => {
    for (const [path, body] of wrongRequests(one)) {
      const headers = keyHeaderFor(path);
      const answer = await tenant.call(one.method, path, {
        headers,
        ...(body === undefined ? {} : { body }),
      });
      if (answer.json?.code !== "INVALID_REQUEST") continue;
      expect(answer.text).not.toMatch(
        /Expected|Unexpected|\^\[|\\d|property|does not have the required form|undefined|NaN/,
      );
    }
  });
});

/** Requests whose parameters are wrong and whose members are all of one type, a type after the other. */
function wrongRequests({
  operation,
  path,
}: (typeof described)[number]): readonly (readonly [string, unknown])[] {
  const id = path.startsWith("/api/v1/senders") ? "a".repeat(64) : ID;
  const parameters = (operation.parameters ?? []).filter((one) => one.in === "query");
  const query = parameters.map(({ name }) => `${name}=%20`).join("&");
  const target = path.replace("{id}", id).replaceAll(/\{\w+\}/g, ID) + (query === "" ? "" : `?${query}`);
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (schema === undefined) return [[target, undefined]];
  const members = Object.keys((schema.properties as object | undefined) ?? {});
  const wrongValues: readonly unknown[] = [null, 7, "x", [], [7], {}, true];
  return wrongValues.map((value) => [target, Object.fromEntries(members.map((member) => [member, value]))]);
}
