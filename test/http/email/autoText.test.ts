import { describe, expect, test } from "bun:test";
import { acceptedEmail } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";

const HTML = `<style>p { color: red }</style><h1>Hello Ana</h1>
  <p>Your order <b>4711</b> is on its way: <a href="https://example.com/4711?a=1&amp;b=2">track it</a>.</p>
  <ul><li>Grüße</li><li>🎉</li></ul><img src="https://example.com/pixel" alt="pixel">
  <div style="display:none">preview</div><script>alert(1)</script>`;
const TEXT = `Hello Ana

Your order 4711 is on its way: track it [https://example.com/4711?a=1&b=2].

 * Grüße
 * 🎉`;

describe.each(await testStores())("auto_text on $name", (store) => {
  const { tenant } = serviceFixture(store);

  const html = (parts: Record<string, unknown>) => ({ ...message(), text: undefined, html: HTML, ...parts });
  const stored = (body: unknown) => acceptedEmail(tenant, body);

  test("makes a text of the html, which is kept with the message", async () => {
    expect(await stored(html({ auto_text: true }))).toMatchObject({ html: HTML, text: TEXT });
  });

  test("leaves a text that was given as it is, and makes none unasked", async () => {
    expect((await stored(html({ auto_text: true, text: "Mine" }))).text).toBe("Mine");
    expect((await stored(html({ auto_text: false }))).text).toBeNull();
    expect((await stored(html({}))).text).toBeNull();
    expect((await stored(message({ auto_text: true }))).html).toBeNull();
  });

  test("of html with nothing to read gives no text", async () => {
    expect((await stored(html({ auto_text: true, html: '<img src="cid:a">' }))).text).toBeNull();
  });

  test("makes a text of a template's html", async () => {
    const call = (path: string, body?: unknown) =>
      tenant.call("POST", `/api/v1/templates${path}`, body === undefined ? {} : { body });
    const template = (await call("", { name: "Welcome" })).json;
    const draft = {
      subject: "Hi",
      html: "<p>Hello {{ name }}</p>",
      variables: [{ name: "name", type: "string" }],
    };
    const version = (await call(`/${template.id}/versions`, draft)).json;
    await call(`/${template.id}/versions/${version.id}/publish`);
    const { from, to } = message();
    const body = { from, to, template_id: template.id, variables: { name: "<b>" }, auto_text: true };
    expect(await stored(body)).toMatchObject({ html: "<p>Hello &lt;b&gt;</p>", text: "Hello <b>" });
  });

  test("is part of what a repeat is compared by; false is the same as nothing", async () => {
    const key = newKey();
    const { json } = await tenant.send(key, html({}));
    expect((await tenant.send(key, html({ auto_text: false }))).json).toEqual(json);
    expect((await tenant.send(key, html({ auto_text: true }))).json.code).toBe("IDEMPOTENCY_CONFLICT");
  });

  test("of html that has more text than a message can is refused, and leaves the key free", async () => {
    const key = newKey();
    const long = html({ auto_text: true, html: `<p>${"x".repeat(200_001)}</p>` });
    const { status, json } = await tenant.send(key, long);
    expect(status).toBe(400);
    expect(json.errors).toEqual([
      { pointer: "/auto_text", message: expect.stringContaining("more than 200,000 characters of text") },
    ]);
    expect((await tenant.send(key, html({}))).status).toBe(202);
  });
});
