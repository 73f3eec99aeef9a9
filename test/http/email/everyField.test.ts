import { expect, test } from "bun:test";
import { SendEmailBody } from "../../../src/http/email/sendEmailSchema.ts";
import { logIn } from "../../support/dashboard.ts";
import { emailOf } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { newKey, SENDER } from "../../support/tenants.ts";

/** A value for each field of a send that says what the message is: as it is asked for, so it is shown. */
const CONTENT = {
  from: SENDER,
  from_name: "The shop",
  to: "ana@example.com",
  to_name: "Ana Silva",
  reply_to: "desk@example.com",
  reply_to_name: "The desk",
  subject: "Your order",
  html: "<p>It is on its way.</p>",
  text: "It is on its way.",
  headers: { "X-Order": "4711" },
  tags: ["receipts"],
  metadata: { order: "4712" },
};
/** Fields that say how the content is treated: another message with it has them too. */
const TREATMENT = { content_retention: "until_final_status" };
/** What the dashboard says of each. */
const TREATMENT_TEXTS: Readonly<Record<keyof typeof TREATMENT, string>> = {
  content_retention: "Erased as soon as the message has ended",
};
/** Of these, what `email:status` shows. Whatever is not here is withheld. */
const ENVELOPE = ["from", "from_name", "to", "to_name", "reply_to", "reply_to_name", "tags"];
const FILE = { filename: "note.txt", content_type: "text/plain" };
/** Fields that say how the message is made, or when it goes: another message with its content has none of them. */
const INSTRUCTIONS = [
  ...[
    "scheduled_at",
    "deliver_before",
    "auto_text",
    "template_id",
    "template_alias",
    "template_version_id",
    "variables",
  ],
];

const { service, tenant } = serviceFixture(sqliteStore);

/** The texts of the content, down to the single header, tag and value. */
const TEXTS = Object.values(CONTENT).flatMap((value) =>
  typeof value === "string" ? [value] : Object.values(value),
);

test("every field of a send is tried here: add a new one to CONTENT, TREATMENT or INSTRUCTIONS", () => {
  const fields = [...Object.keys({ ...CONTENT, ...TREATMENT }), "attachments", ...INSTRUCTIONS];
  expect(Object.keys(SendEmailBody.properties).toSorted()).toEqual(fields.toSorted());
});

test("a message shows each field of its content, and keeps it when it is sent again", async () => {
  const content = Buffer.from("A note.").toString("base64");
  const body = { ...CONTENT, ...TREATMENT, attachments: [{ ...FILE, content }] };
  const { json } = await tenant.send(newKey(), body);
  const complete = { ...CONTENT, ...TREATMENT, attachments: [FILE] };
  expect(await emailOf(tenant, json.id)).toMatchObject(complete);
  const visitor = await logIn(service.url, tenant.apiKey);
  const form = { to: CONTENT.to, nonce: crypto.randomUUID() };
  const { location } = await visitor.post(`/messages/${json.id}/send-again`, form);
  const [again = ""] = /[0-9a-f-]{36}/.exec(location ?? "") ?? [];
  expect(again).not.toBe(json.id);
  expect(await emailOf(tenant, again)).toMatchObject(complete);
});

test("a key that sees only what became of a message is shown no field but those that say between whom it goes", async () => {
  const { json } = await tenant.send(newKey(), CONTENT);
  const shown = await emailOf(await tenant.withKey({ scopes: ["email:status"] }), json.id);
  const fields = Object.entries(CONTENT).map(([name, value]) => [
    name,
    ENVELOPE.includes(name) ? value : null,
  ]);
  expect(shown).toMatchObject(Object.fromEntries(fields));
});

test("the dashboard shows each field of a message's content, and how that is treated", async () => {
  const { json } = await tenant.send(newKey(), { ...CONTENT, ...TREATMENT });
  const visitor = await logIn(service.url, tenant.apiKey);
  const pages = ["", "?show=text", "/body.html"].map((part) => visitor.get(`/messages/${json.id}${part}`));
  const html = (await Promise.all(pages)).map((page) => page.html).join("\n");
  const texts = [...TEXTS, ...Object.values(TREATMENT_TEXTS)];
  expect(texts.filter((text) => !html.includes(text))).toEqual([]);
});

test("a message shows no field of its content once that is erased", async () => {
  const { json } = await tenant.send(newKey(), CONTENT);
  expect((await tenant.call("DELETE", `/api/v1/emails/${json.id}/content`)).status).toBe(200);
  const after = JSON.stringify(await emailOf(tenant, json.id));
  expect(TEXTS.filter((text) => after.includes(text))).toEqual([]);
});
