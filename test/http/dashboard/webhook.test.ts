import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { webhooksStream } from "../../../src/domain/webhook/events.ts";
import { webhookDeliveryStream } from "../../../src/domain/webhookDelivery/events.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import type { Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

/** An endpoint is left alone after fewer failures in a row: the rest waits. */
const TESTS_UNTIL_BREAKER_OPENS = 25;
const SECRET = /whsec_[A-Za-z0-9+/]{43}=/;
const HOSTILE = `<script>alert(1)</script>"'&`;

describe("the pages of webhooks", () => {
  let world: WebhookWorld;
  let tenant: Tenant;
  let visitor: Visitor;
  let status = 200;
  let text = "ok";
  beforeAll(async () => {
    world = await startWebhookWorld(
      sqliteStore,
      ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
      {
        answer: (_call, response) => {
          response.statusCode = status;
          response.end(text);
        },
      },
    );
    tenant = await world.service.tenant();
    visitor = await logIn(world.service.url, tenant.apiKey);
  });
  afterAll(() => world.remove());

  const registered = async (name: string): Promise<string> => {
    const { json } = await tenant.call("POST", "/webhooks", { body: { url: world.urlOf(name) } });
    return json.id;
  };
  const lastEvent = async () => {
    const events = await world.service.log.store.read(webhooksStream(tenant.workspaceId), 0, 100);
    return events.at(-1);
  };
  /** Sends a test, and waits until `isThere` finds what it looks for on the page of its delivery. */
  const sendTest = async (id: string, isShown: (html: string) => boolean): Promise<string> => {
    const { location } = await visitor.post(`/webhooks/${id}/test`);
    const path = (location ?? "").replace(/^\/dashboard/, "");
    await until(async () => isShown((await visitor.get(path)).html), "the delivery to be made");
    return path;
  };

  test("an endpoint is added, and its secret is shown with that answer and never again", async () => {
    expect((await visitor.get("/webhooks")).html).toContain("No endpoints yet");
    const url = world.urlOf("one");
    const form = {
      form_token: await visitor.formToken(),
      url,
      description: HOSTILE,
      event_types: "email.sent",
      include: "subject",
    };
    const added = await visitor.post("/webhooks/new", form);
    expect(added.status).toBe(200);
    expect(added.html).toMatch(SECRET);
    expect(added.headers.get("cache-control")).toContain("no-store");
    const [, id = ""] = /href="\/dashboard\/webhooks\/([0-9a-f-]{36})"/.exec(added.html) ?? [];
    const repeated = await visitor.post("/webhooks/new", form);
    expect([repeated.status, repeated.html.includes("This was done already")]).toEqual([409, true]);
    expect(repeated.html).toContain(`href="/dashboard/webhooks/${id}"`);
    expect((await lastEvent())?.metadata).toMatchObject({ actor: `api-key:${tenant.keyId}` });
    for (const path of ["/webhooks", `/webhooks/${id}`, `/webhooks/${id}/edit`]) {
      const { html } = await visitor.get(path);
      expect(html).toContain("one.receiver.example.org");
      expect(html).not.toMatch(SECRET);
      expect(html).not.toContain("<script>alert");
    }
    const isChosen = (html: string) => /value="subject" checked/.test(html);
    expect((await visitor.get(`/webhooks/${id}`)).html).toContain("<dd>subject</dd>");
    expect(isChosen((await visitor.get(`/webhooks/${id}/edit`)).html)).toBeTrue();
    expect((await visitor.post(`/webhooks/${id}/edit`, { url })).status).toBe(303);
    expect((await tenant.call("GET", `/webhooks/${id}`)).json.include).toEqual([]);
    expect((await visitor.get(`/webhooks/${id}`)).html).toContain("neither addresses nor subjects");
    expect(isChosen((await visitor.get(`/webhooks/${id}/edit`)).html)).toBeFalse();
  });

  test("a form with faults comes back with what was written and what is wrong", async () => {
    const refused = await visitor.post("/webhooks/new", {
      url: " http://127.0.0.1/ ",
      description: "mine\n",
    });
    expect(refused.status).toBe(422);
    expect(refused.html).toContain('value="http://127.0.0.1/"');
    expect(refused.html).toContain('value="mine"');
    expect(refused.html).toContain('id="url-fault"');
    const long = await visitor.post("/webhooks/new", {
      url: world.urlOf("two"),
      description: "x".repeat(501),
    });
    expect(long.html).toContain('id="description-fault"');
    const unknownType = await visitor.post("/webhooks/new", {
      url: world.urlOf("two"),
      event_types: "email.opened",
    });
    expect(unknownType.status).toBe(422);
    const unknownMember = await visitor.post("/webhooks/new", { url: world.urlOf("two"), include: "html" });
    expect(unknownMember.status).toBe(422);
    expect(unknownMember.html).toContain("It must be one of from, to, subject.");
  });

  test("an address that another endpoint has leads to that endpoint", async () => {
    const id = await registered("two");
    const other = await registered("nine");
    // The service compares URLs in their normalised form.
    const url = world.urlOf("two").replace("two.", "TWO.");
    for (const path of ["/webhooks/new", `/webhooks/${other}/edit`]) {
      const { status, html } = await visitor.post(path, { url });
      expect(status).toBe(422);
      const [fault = ""] = /id="url-fault">.*?<\/span>/s.exec(html) ?? [];
      expect(fault).toContain(`already has this URL: <a href="/dashboard/webhooks/${id}">open it</a>.`);
      expect(html).not.toContain("PATCH");
    }
  });

  test("an endpoint is changed, disabled, enabled and deleted", async () => {
    const id = await registered("three");
    const url = world.urlOf("three");
    expect((await visitor.post(`/webhooks/${id}/edit`, { url, description: "Orders" })).status).toBe(303);
    expect((await visitor.get(`/webhooks/${id}`)).html).toContain("Orders");
    expect((await visitor.get(`/webhooks/${id}/disable`)).html).toContain("Disable the endpoint?");
    await visitor.post(`/webhooks/${id}/disable`);
    const disabled = (await visitor.get(`/webhooks/${id}`)).html;
    expect(disabled).toContain("Disabled on request");
    expect(disabled).not.toContain("Send test");
    expect((await visitor.post(`/webhooks/${id}/test`)).status).toBe(409);
    await visitor.post(`/webhooks/${id}/enable`);
    expect((await visitor.get(`/webhooks/${id}`)).html).toContain("Send test");
    expect((await visitor.post(`/webhooks/${id}/delete`)).location).toBe("/dashboard/webhooks");
    expect((await lastEvent())?.metadata).toMatchObject({ actor: `api-key:${tenant.keyId}` });
    expect((await visitor.get(`/webhooks/${id}`)).status).toBe(404);
  });

  test("a rotation shows the new secret once, and both sign while they overlap", async () => {
    const id = await registered("four");
    expect((await visitor.post(`/webhooks/${id}/rotate`, { overlap_ms: "17" })).status).toBe(400);
    const rotation = { form_token: await visitor.formToken(), overlap_ms: "3600000" };
    const rotated = await visitor.post(`/webhooks/${id}/rotate`, rotation);
    expect(rotated.html).toMatch(SECRET);
    expect((await visitor.get(`/webhooks/${id}`)).html).not.toMatch(SECRET);
    const before = (await lastEvent())?.id;
    const again = await visitor.post(`/webhooks/${id}/rotate`, rotation);
    expect([again.status, again.html.includes("This was done already")]).toEqual([409, true]);
    expect(again.html).toContain(`href="/dashboard/webhooks/${id}"`);
    expect((await lastEvent())?.id).toBe(before);
    status = 200;
    await sendTest(id, (html) => html.includes("The endpoint has taken it."));
    const call = world.receiver.calls.findLast(({ path }) => path === "/four");
    expect(call?.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
  });

  test("a delivery that failed shows what was sent and answered, and is sent again", async () => {
    const id = await registered("five");
    status = 500;
    text = HOSTILE;
    const path = await sendTest(id, (html) => html.includes("trying again"));
    const failed = (await visitor.get(path)).html;
    expect(failed).toContain("with status 500");
    expect(failed).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(failed).not.toContain("<script>alert");
    expect(failed).toContain("&quot;type&quot;: &quot;webhook.test&quot;");
    expect((await visitor.get("/webhooks")).html).toContain("failing");
    const standing = (await visitor.get(`/webhooks/${id}`)).html;
    expect(standing).toContain("The last call failed because it did not answer 2xx (status 500).");
    expect(standing).toContain(`<a href="/dashboard${path}">Look at it</a>`);
    status = 200;
    text = "ok";
    expect((await visitor.post(`${path}/retry`)).status).toBe(303);
    await until(
      async () => (await visitor.get(path)).html.includes("The endpoint has taken it."),
      "the delivery to be made",
    );
    const story = await world.service.log.store.read(
      webhookDeliveryStream(path.split("/").at(-1) ?? ""),
      0,
      20,
    );
    const requested = story.find(({ type }) => type === "WebhookRedeliveryRequested");
    expect(requested?.metadata).toMatchObject({ actor: `api-key:${tenant.keyId}` });
    const delivered = (await visitor.get(`/webhooks/${id}?status=delivered`)).html;
    expect(delivered).toContain(path);
    expect((await visitor.get(`/webhooks/${id}?status=skipped`)).html).toContain("None like that");
    expect((await visitor.get(`/webhooks/${id}?status=nonsense`)).html).toContain(path);
  });

  test("calls that an endpoint which fails keeps waiting are due, and not of some time ago", async () => {
    const id = await registered("seven");
    status = 500;
    for (let sent = 0; sent < TESTS_UNTIL_BREAKER_OPENS; sent += 1)
      await visitor.post(`/webhooks/${id}/test`);
    let html = "";
    await until(async () => {
      html = (await visitor.get(`/webhooks/${id}?status=pending`)).html;
      return html.includes("The last call failed") && />due<\/td>/.test(html);
    }, "queued calls");
    expect(html).not.toContain(" ago</time></td>");
  });

  test("a message's timeline says why a call waits, and for when", async () => {
    await registered("eight");
    status = 500;
    const { json } = await tenant.send("webhook-waits", {
      from: "sender@example.com",
      to: "ana@example.com",
      subject: "Hello",
      text: "It works.",
    });
    let html = "";
    await until(async () => {
      html = (await visitor.get(`/messages/${json.id}`)).html;
      return /Webhook waits.*eight\.receiver.*The last call failed/s.test(html);
    }, "a failed call");
    expect(html).toContain("The last call failed: it did not answer 2xx (status 500).");
    expect(html).toMatch(/Next call at <time/);
    status = 200;
  });

  test("what happened while an endpoint was disabled is recovered", async () => {
    const id = await registered("six");
    status = 200;
    await visitor.post(`/webhooks/${id}/disable`);
    const sent = await tenant.send("while-disabled", {
      from: "sender@example.com",
      to: "ana@example.com",
      subject: "Hello",
      text: "It works.",
    });
    expect(sent.status).toBe(202);
    await until(
      async () => (await visitor.get(`/webhooks/${id}?status=skipped`)).html.includes("email.queued"),
      "the missed deliveries",
    );
    const list = async (query: string) => (await visitor.get(`/webhooks/${id}?${query}`)).html;
    expect(await list("")).toContain(`<a href="/dashboard/messages/${sent.json.id}">`);
    expect(await list(`email_id=+${sent.json.id}`)).toContain("/deliveries/");
    for (const other of [crypto.randomUUID(), "not-an-id"])
      expect(await list(`email_id=${other}`)).toContain("None like that");
    expect((await visitor.post(`/webhooks/${id}/recover`, { since_ms: "3600000" })).status).toBe(409);
    await visitor.post(`/webhooks/${id}/enable`);
    expect((await visitor.post(`/webhooks/${id}/recover`, { since_ms: "3600000" })).status).toBe(303);
    await until(
      async () => (await visitor.get(`/webhooks/${id}?status=delivered`)).html.includes("email.queued"),
      "the recovered deliveries",
    );
  });

  test("what is another workspace's is not found", async () => {
    const other = await world.service.tenant();
    const otherVisitor = await logIn(world.service.url, other.apiKey);
    const { json } = await tenant.call("GET", "/webhooks");
    const { id } = json.data[0];
    expect((await otherVisitor.get("/webhooks")).html).not.toContain(id);
    for (const path of ["", "/edit", "/delete", "/rotate"])
      expect((await otherVisitor.get(`/webhooks/${id}${path}`)).status).toBe(404);
    for (const action of ["edit", "test", "disable", "enable", "delete", "rotate", "recover"])
      expect((await otherVisitor.post(`/webhooks/${id}/${action}`)).status).toBe(404);
    const deliveries = await tenant.call("GET", `/webhooks/${id}/deliveries`);
    const delivery = deliveries.json.data[0].id;
    expect((await visitor.get(`/webhooks/${id}/deliveries/${delivery}`)).status).toBe(200);
    expect((await otherVisitor.get(`/webhooks/${id}/deliveries/${delivery}`)).status).toBe(404);
    expect((await visitor.get("/webhooks/not-an-id")).status).toBe(404);
  });
});

describe("a development endpoint where nothing listens", () => {
  const settings = { DELIVERY: "on", SMTP_URL: "outbox:", WEBHOOK_ALLOW_PRIVATE_HOSTS: "localhost:1" };
  const fixture = dashboardFixture(sqliteStore, settings);

  test("is said to accept no connection: it needs neither TLS nor a public address", async () => {
    const { tenant, visitor } = fixture;
    const { json } = await tenant.call("POST", "/webhooks", { body: { url: "http://localhost:1/dead" } });
    const { location } = await visitor.post(`/webhooks/${json.id}/test`);
    const path = (location ?? "").replace(/^\/dashboard/, "");
    const page = async () => (await visitor.get(path)).html;
    await until(async () => (await page()).includes("It failed because"), "the call to fail");
    const [, why = ""] = /It failed because ([^<]+)\.<\/p>/.exec(await page()) ?? [];
    expect(why).toEndWith("or nothing there accepts a connection (over TLS for https)");
    expect(why).not.toContain("public");
    const openApi = (await tenant.call("GET", "/openapi.json")).json;
    const { reason } = openApi.components.schemas.WebhookAttempt.properties;
    expect(JSON.stringify(reason)).toContain(why);
  });
});
