import { describe, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { BoundedParser } from "../../../src/adapters/liquidjs/boundedParser.ts";
import { templateStream } from "../../../src/domain/template/events.ts";
import { lineDiff, ROWS_SHOWN_MAX } from "../../../src/http/dashboard/template/lineDiff.ts";
import { logIn } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { setLimits } from "../../support/limits.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { newKey, SENDER } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(60_000);

const PATH = "/api/v1/templates";
const HOSTILE = `<script>alert(1)</script>"><img src=x onerror=alert(1)>`;

describe("templates in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore);

  const create = async (name = "Order", caller = fixture.tenant): Promise<string> =>
    (await caller.call("POST", PATH, { body: { name } })).json.id;
  const draft = async (id: string, source: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const body = { subject: "Order", text: "Thank you.", ...source };
    return (await fixture.tenant.call("POST", `${PATH}/${id}/versions`, { body })).json.id;
  };
  const read = async (id: string) => (await fixture.tenant.call("GET", `${PATH}/${id}`)).json;
  const lastEvent = async (id: string) =>
    (await fixture.service.log.store.read(templateStream(id), 0, 100)).at(-1);

  test("say what to do where there are none, and are listed with their status", async () => {
    const other = await fixture.service.tenant();
    const otherVisitor = await logIn(fixture.service.url, other.apiKey);
    expect((await otherVisitor.get("/templates")).html).toContain("No templates yet");
    const id = await create("Listed");
    const { html } = await fixture.visitor.get("/templates");
    expect(html).toContain(`href="/dashboard/templates/${id}"`);
    expect(html).toContain("Listed");
    expect((await otherVisitor.get("/templates")).html).not.toContain(id);
  });

  test("come in pages", async () => {
    const other = await fixture.service.tenant();
    for (let nth = 0; nth < 26; nth += 1) await create(`Number ${nth}`, other);
    const otherVisitor = await logIn(fixture.service.url, other.apiKey);
    const first = (await otherVisitor.get("/templates")).html;
    const [, next = ""] = /href="\/dashboard(\/templates\?cursor=[^"]+)"/.exec(first) ?? [];
    expect(first).not.toContain("Number 0<");
    expect((await otherVisitor.get(next)).html).toContain("Number 0<");
    expect((await otherVisitor.get("/templates?cursor=nonsense")).status).toBe(400);
    const [, cursor] = next.split("?");
    for (const list of ["/messages", "/audit", "/suppressions", "/outbox"])
      expect([list, (await otherVisitor.get(`${list}?${cursor}`)).status]).toEqual([list, 400]);
  });

  test("are created with a name of bounded length, by the session's key", async () => {
    const { status, location } = await fixture.visitor.post("/templates/new", { name: " Welcome " });
    expect(status).toBe(303);
    const id = location?.split("/").at(-1) ?? "";
    expect(await read(id)).toMatchObject({ name: "Welcome", status: "draft" });
    const [key] = (await fixture.tenant.call("GET", "/api/v1/api-keys")).json.data;
    expect(JSON.stringify((await lastEvent(id))?.metadata)).toContain(key.id);
    const unreadable = "must have visible characters, and no control characters";
    for (const [name, fault] of [
      ["", unreadable],
      ["  ", unreadable],
      ["a\u202eb", unreadable],
      ["x".repeat(201), "must have at most 200 characters"],
    ] as const) {
      const refused = await fixture.visitor.post("/templates/new", { name });
      expect(refused.status).toBe(422);
      expect(refused.html).toContain(`A name ${fault}.`);
    }
  });

  test("are created with an alias, which lists and the pages of the template and of its messages show", async () => {
    const form = { name: "Aliased", alias: " order.shipped " };
    const { location = "" } = await fixture.visitor.post("/templates/new", form);
    const id = location?.split("/").at(-1) ?? "";
    expect(await read(id)).toMatchObject({ alias: "order.shipped" });
    const version = await draft(id);
    await fixture.tenant.call("POST", `${PATH}/${id}/versions/${version}/publish`);
    const body = { from: SENDER, to: "ana@example.com", template_alias: "order.shipped" };
    const { json } = await fixture.tenant.send(newKey(), body);
    for (const path of ["/templates", `/templates/${id}`, `/messages/${json.id}`])
      expect((await fixture.visitor.get(path)).html).toContain("order.shipped");
    expect((await fixture.visitor.post("/templates/new", form)).location).toBe(location);
    for (const [alias, status, fault] of [
      ["Order", 400, "It must be 1 to 64 characters"],
      ["order.shipped", 409, "It is taken by the template"],
    ] as const) {
      const refused = await fixture.visitor.post("/templates/new", { name: "Another", alias });
      expect(refused.status).toBe(status);
      expect(refused.html).toContain(fault);
      expect(refused.html).toContain(`value="${alias}"`);
    }
  });

  test("are renamed, with the same rules for names", async () => {
    const id = await create("Before");
    const at = `/templates/${id}/rename`;
    expect((await fixture.visitor.get(`/templates/${id}`)).html).toContain(`href="/dashboard${at}"`);
    expect((await fixture.visitor.get(at)).html).toMatch(/<input id="name"[^>]* value="Before"/);
    const { location } = await fixture.visitor.post(at, { name: " After " });
    expect(location).toBe(`/dashboard/templates/${id}`);
    expect(await read(id)).toMatchObject({ name: "After" });
    const refused = await fixture.visitor.post(at, { name: "" });
    expect(refused.status).toBe(422);
    expect(refused.html).toContain("A name must have visible characters");
  });

  test("show what callers sent as text", async () => {
    const id = await create(HOSTILE);
    const source = { subject: HOSTILE, html: HOSTILE, text: HOSTILE };
    const [one, two] = [await draft(id, source), await draft(id, { ...source, text: `${HOSTILE}\n2` })];
    for (const path of [
      "/templates",
      `/templates/${id}`,
      `/templates/${id}/delete`,
      `/templates/${id}/versions/${one}`,
      `/templates/${id}/compare?from=${one}&to=${two}`,
    ]) {
      const { status, html } = await fixture.visitor.get(path);
      expect(status).toBe(200);
      expect(html).toContain("&lt;script&gt;");
      expect(html).not.toMatch(/<script>|<img/);
    }
  });

  test("have versions, of which one is published and in use", async () => {
    const id = await create();
    expect((await fixture.visitor.get(`/templates/${id}`)).html).toContain("No version yet");
    const variables = [
      { name: "name", type: "string", default: "there" },
      { name: "order", type: "number", required: true },
    ];
    const version = await draft(id, { text: "Hello {{ name }}: {{ order }}", variables });
    const { html } = await fixture.visitor.get(`/templates/${id}/versions/${version}`);
    expect(html).toContain(`href="/dashboard/messages?q=version%3A${version}"`);
    for (const text of ["Hello {{ name }}: {{ order }}", "&quot;there&quot;", "the send is refused"])
      expect(html).toContain(text);
    const { status, location } = await fixture.visitor.post(`/templates/${id}/versions/${version}/publish`);
    expect([status, location]).toEqual([303, `/dashboard/templates/${id}`]);
    expect(await read(id)).toMatchObject({ status: "published", current_version_id: version });
    expect((await fixture.visitor.get(`/templates/${id}`)).html).toContain("in use");
    expect((await fixture.visitor.get(`/templates/${id}/versions/${version}`)).html).not.toContain(
      "/publish",
    );
  });

  test("show two versions side by side", async () => {
    const id = await create();
    const from = await draft(id, { text: "One\nTwo\nThree", html: "<b>Same</b>" });
    const to = await draft(id, { text: "One\nZwei\nThree\nFour", html: "<b>Same</b>" });
    const { html } = await fixture.visitor.get(`/templates/${id}/compare?from=${from}&to=${to}`);
    for (const text of ["<del>Two</del>", "<ins>Zwei</ins>", "<ins>Four</ins>", "The same in both."])
      expect(html).toContain(text);
    expect(html).not.toContain("<ins>One");
    expect((await fixture.visitor.get(`/templates/${id}/compare?from=${from}`)).status).toBe(404);
  });

  const row = (index: number, name: string, type = "string", fallback = "") => ({
    [`name-${index}`]: name,
    [`type-${index}`]: type,
    [`default-${index}`]: fallback,
  });

  test("are drafted in a form, with variables of every type", async () => {
    const id = await create();
    const fields = {
      subject: "Order {{ order }}",
      html: "<p>{{ name }}</p>\r\n<p>{{ items | size }}</p>",
      text: "",
      ...row(0, "order", "number"),
      "required-0": "yes",
      ...row(1, ""),
      ...row(2, "name", "string", "there"),
      ...row(3, "items", "list", '["a"]'),
    };
    const { status, location } = await fixture.visitor.post(`/templates/${id}/draft`, fields);
    expect(status).toBe(303);
    const version = location?.split("/").at(-1);
    expect((await fixture.tenant.call("GET", `${PATH}/${id}/versions/${version}`)).json).toMatchObject({
      subject: "Order {{ order }}",
      html: "<p>{{ name }}</p>\n<p>{{ items | size }}</p>",
      text: null,
      variables: [
        { name: "order", type: "number", required: true },
        { name: "name", type: "string", required: false, default: "there" },
        { name: "items", type: "list", required: false, default: ["a"] },
      ],
    });
    const { html } = await fixture.visitor.get(`/templates/${id}/draft`);
    for (const text of ["Order {{ order }}", "Order 42", 'value="there"', "sample-items"])
      expect(html).toContain(text);
  });

  test("keep what was written beside what is wrong with it, each fault at its field", async () => {
    const id = await create();
    const fields = {
      subject: "Hi",
      html: "<p>{% if %}</p>",
      text: "{{ nmae }}",
      ...row(0, ""),
      ...row(1, "name", "number", "x"),
    };
    for (const path of ["/draft", "/draft/preview"]) {
      const { status, html } = await fixture.visitor.post(`/templates/${id}${path}`, fields);
      expect(status).toBe(path === "/draft" ? 422 : 200);
      expect(html).toMatch(/id="variable-1-fault">Must be a number\.</);
      expect(html).toContain("&lt;p&gt;{% if %}&lt;/p&gt;");
    }
    const { html } = await fixture.visitor.post(`/templates/${id}/draft`, { ...fields, ...row(1, "name") });
    expect(html).toMatch(/id="html-fault">Invalid [^<]*line:1/);
    expect(html).toMatch(/id="text-fault">Uses nmae in line 1[^<]*did you mean name\?/);
    expect((await fixture.visitor.get(`/templates/${id}`)).html).toContain("No version yet");
  });

  test("get a row for each undeclared name that a preview or a save finds, and an empty one by a button", async () => {
    const id = await create();
    const fields = {
      subject: "{{ name }}",
      html: "{{ order }} {{ parcel }} {{ nmae }}",
      ...row(0, "name"),
      ...row(1, ""),
    };
    const rowsIn = (html: string) =>
      [...html.matchAll(/<input name="name-\d+" value="([^"]*)"/g)].map(([, name]) => name);
    const at = `/templates/${id}/draft`;
    const undeclared = ["name", "order", "parcel", "", ""];
    const preview = (asked: Readonly<Record<string, string>>, headers = {}) =>
      fixture.visitor.post(`${at}/preview`, { ...fields, ...asked }, headers);
    const { status, html } = await fixture.visitor.post(at, fields);
    expect([status, rowsIn(html)]).toEqual([422, undeclared]);
    expect(html).toContain("Not saved yet: rows were added below for order, parcel.");
    const previewed = (await preview({ rows: "undeclared" })).html;
    expect(rowsIn(previewed)).toEqual(undeclared);
    for (const page of [html, previewed]) {
      // With its row, a name is declared.
      expect(page).not.toContain("Uses order");
      expect(page).toContain("did you mean name?");
    }
    const good = await fixture.visitor.post(at, { subject: "Hi {{ city }}", html: "<p>{{ city }}</p>" });
    expect(good.html).toContain('<p class="preview-subject">Hi ');
    const live = { "hx-request": "true" };
    const swapped = (await preview({ rows: "undeclared" }, live)).html;
    expect(rowsIn(swapped)).toEqual(undeclared);
    expect(swapped).toContain('<fieldset id="variables" hx-swap-oob="true"');
    // While somebody types, the rows stay as they are.
    expect(rowsIn((await preview({}, live)).html)).toEqual([]);
    expect(rowsIn((await preview({ rows: "another", ...row(2, "") })).html)).toEqual(["name", "", "", ""]);
  });

  test("are compiled once by a request, even if it also looks for undeclared names", async () => {
    const id = await create();
    const fields = { subject: "{{ one }}", html: "{{ two }}", text: "{{ three }}" };
    const parse = spyOn(BoundedParser.prototype, "parse");
    try {
      for (const page of ["draft", "draft/preview"]) {
        parse.mockClear();
        const { html } = await fixture.visitor.post(`/templates/${id}/${page}`, {
          ...fields,
          rows: "undeclared",
        });
        expect(html).toContain('value="three"');
        const sources = parse.mock.calls.map(([source]) => source).filter((source) => source !== "");
        expect(sources).toEqual(Object.values(fields));
      }
    } finally {
      parse.mockRestore();
    }
  });

  test("are previewed with samples, in a frame that loads nothing and runs nothing", async () => {
    const id = await create();
    const fields = {
      subject: "Hi {{ name }}",
      html: `<p>{{ name }}</p><script>alert(1)</script><img src="https://evil.example/x.png">`,
      ...row(0, "name"),
      "sample-name": HOSTILE,
    };
    const preview = await fixture.visitor.post(`/templates/${id}/draft/preview`, fields, {
      "hx-request": "true",
    });
    expect(preview.html).toContain("Hi &lt;script&gt;");
    expect(preview.html).not.toMatch(/<script|<img|<html/);
    const { headers, html } = await fixture.visitor.post(`/templates/${id}/draft/frame`, fields);
    expect(html).toContain("<p>&lt;script&gt;");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toStartWith("sandbox");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("allow-scripts");
    const invalid = await fixture.visitor.post(
      `/templates/${id}/draft/preview`,
      { ...fields, ...row(0, "name", "number") },
      { "hx-request": "true" },
    );
    expect(invalid.html).toContain('id="sample-name-fault"');
    expect(invalid.html).toContain("Must be a number.");
  });

  test("are sent to somebody who looks at them: a draft too, and a form sent twice once", async () => {
    const id = await create();
    const version = await draft(id, {
      text: "Dear {{ name }}",
      variables: [{ name: "name", type: "string", required: true }],
    });
    const at = `/templates/${id}/versions/${version}/test-send`;
    const { html } = await fixture.visitor.get(at);
    expect(html).toMatch(new RegExp(`<input id="from"[^>]* value="${SENDER}"`));
    const [, nonce = ""] = /name="nonce" value="([^"]+)"/.exec(html) ?? [];
    const fields = { nonce, mail: "live", from: SENDER, to: "colleague@example.com", "sample-name": "Ana" };
    const sent = [await fixture.visitor.post(at, fields), await fixture.visitor.post(at, fields)];
    expect(sent[0]?.location).toStartWith("/dashboard/messages/");
    expect(sent[1]?.location).toBe(sent[0]?.location ?? null);
    const message = (
      await fixture.tenant.call("GET", `/api/v1/emails/${sent[0]?.location?.split("/").at(-1)}`)
    ).json;
    expect(message).toMatchObject({ text: "Dear Ana", template_id: null });
    await fixture.visitor.post(`/templates/${id}/versions/${version}/publish`);
    const second = await fixture.visitor.post(at, { ...fields, nonce: crypto.randomUUID() });
    const published = await fixture.tenant.call(
      "GET",
      `/api/v1/emails/${second.location?.split("/").at(-1)}`,
    );
    expect(published.json).toMatchObject({ text: "Dear Ana", template_id: id, template_version_id: version });
    const invalid = await fixture.visitor.post(at, { ...fields, to: "nobody", "sample-name": "" });
    expect(invalid.status).toBe(400);
    expect(invalid.html).toMatch(/id="to-fault">[^<]*must be one bare address/);
    const unsendable = await fixture.visitor.post(at, {
      ...fields,
      nonce: crypto.randomUUID(),
      from: "x@other.example",
    });
    expect(unsendable.status).toBe(422);
    const switched = await fixture.visitor.post(at, { ...fields, mail: "test", "sample-name": "" });
    expect(switched.status).toBe(409);
    expect(switched.html).toContain("You now see live mail: submit it again to send it live.");
    const other = await fixture.visitor.post(at, { ...fields, to: "another@example.com" });
    expect(other.html).toContain("This form has sent another message before: submit it again");
    expect(other.html).not.toContain(`value="${nonce}"`);
  });

  test("have a test send that says from when it is not refused any more", async () => {
    const { service } = fixture;
    const tenant = await service.tenant();
    const visitor = await logIn(service.url, tenant.apiKey);
    const id = await create("Order", tenant);
    const body = { subject: "Order", text: "Thank you." };
    const version = (await tenant.call("POST", `${PATH}/${id}/versions`, { body })).json.id;
    const send = () =>
      visitor.post(`/templates/${id}/versions/${version}/test-send`, {
        nonce: crypto.randomUUID(),
        mail: "live",
        from: SENDER,
        to: "colleague@example.com",
      });
    await setLimits(service.log, tenant.workspaceId, { messagesPerDay: 1 });
    await until(async () => (await send()).status === 429, "the refusal for the day's limit");
    expect((await send()).html).toMatch(/class="refusal"[^>]*>[^<]* You can in \d/);
  });

  test("stay on the screen after a test send by a key that may not read messages", async () => {
    const { apiKey } = await fixture.tenant.withKey({ scopes: ["email:send", "template:manage"] });
    const visitor = await logIn(fixture.service.url, apiKey);
    const id = await create();
    const at = `/templates/${id}/versions/${await draft(id)}`;
    const fields = { nonce: crypto.randomUUID(), mail: "live", from: SENDER, to: "colleague@example.com" };
    const { status, location } = await visitor.post(`${at}/test-send`, fields);
    expect([status, location]).toEqual([303, `/dashboard${at}`]);
    expect((await visitor.get(at)).status).toBe(200);
  });

  test("are offered for a test send where their versions are listed", async () => {
    const id = await create();
    expect((await fixture.visitor.get(`/templates/${id}`)).html).not.toContain("test-send");
    const first = await draft(id);
    const newest = await draft(id);
    const offered = async () => (await fixture.visitor.get(`/templates/${id}`)).html;
    expect(await offered()).toContain(`/versions/${newest}/test-send`);
    await fixture.visitor.post(`/templates/${id}/versions/${first}/publish`);
    expect(await offered()).toContain(`/versions/${first}/test-send`);
    const { apiKey } = await fixture.tenant.withKey({ scopes: ["template:manage"] });
    const other = await logIn(fixture.service.url, apiKey);
    expect((await other.get(`/templates/${id}`)).html).not.toContain("test-send");
  });

  test("are archived and deleted once that was confirmed", async () => {
    const id = await create();
    await draft(id);
    expect((await fixture.visitor.get(`/templates/${id}/archive`)).html).toContain("cannot be brought back");
    expect((await read(id)).status).toBe("draft");
    expect((await fixture.visitor.post(`/templates/${id}/archive`)).status).toBe(303);
    expect((await read(id)).status).toBe("archived");
    expect((await fixture.visitor.get(`/templates/${id}`)).html).not.toContain("New draft");
    expect((await fixture.visitor.get(`/templates/${id}/delete`)).html).toContain(
      "Messages that were accepted",
    );
    expect((await fixture.visitor.post(`/templates/${id}/delete`)).location).toBe("/dashboard/templates");
    expect((await fixture.visitor.get(`/templates/${id}`)).status).toBe(404);
  });

  test("of another workspace do not exist", async () => {
    const id = await create();
    const version = await draft(id);
    const otherVisitor = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    for (const path of [
      "",
      "/archive",
      "/delete",
      "/draft",
      "/rename",
      "/versions/x",
      `/versions/${version}`,
      `/versions/${version}/test-send`,
    ])
      expect((await otherVisitor.get(`/templates/${id}${path}`)).status).toBe(404);
    for (const path of ["/archive", "/delete", `/versions/${version}/publish`, "/draft", "/rename"])
      expect((await otherVisitor.post(`/templates/${id}${path}`, { subject: "x", text: "x" })).status).toBe(
        404,
      );
    expect(await read(id)).toMatchObject({ status: "draft" });
  });
});

describe("texts side by side", () => {
  const kinds = (old: string, next: string) => lineDiff(old, next).map(({ kind }) => kind);

  test("have their changes beside one another, with numbers of lines", () => {
    expect(lineDiff("a\nb\nc", "a\nB\nc\nd")).toEqual([
      { kind: "same", old: { number: 1, text: "a" }, new: { number: 1, text: "a" } },
      { kind: "changed", old: { number: 2, text: "b" }, new: { number: 2, text: "B" } },
      { kind: "same", old: { number: 3, text: "c" }, new: { number: 3, text: "c" } },
      { kind: "added", old: null, new: { number: 4, text: "d" } },
    ]);
    expect(kinds("", "a")).toEqual(["added"]);
    expect(kinds("a\nb", "")).toEqual(["removed", "removed"]);
  });

  test("leave out what is far from every change", () => {
    const lines = Array.from({ length: 50 }, (_, nth) => `line ${nth}`);
    const rows = lineDiff(lines.join("\n"), lines.with(25, "other").join("\n"));
    expect(rows.map(({ kind }) => kind)).toEqual([
      "folded",
      ...["same", "same", "same", "changed", "same", "same", "same"],
      "folded",
    ] as never);
    expect(rows[0]).toEqual({ kind: "folded", lines: 22 });
  });

  test("with more than 250 changed lines are shown as replaced completely", () => {
    const text = (changed: number) =>
      Array.from({ length: 800 }, (_, nth) =>
        nth % 3 === 0 && nth < 3 * changed ? `changed ${nth}` : `line ${nth}`,
      ).join("\n");
    expect(kinds(text(0), text(250))).toContain("same");
    expect(new Set(kinds(text(0), text(251)))).toEqual(new Set(["changed"]));
  });

  test("that have nothing in common and are as long as can be are compared at once", () => {
    const text = (word: string) => Array.from({ length: 100_000 }, (_, nth) => `${word}${nth}`).join("\n");
    const started = process.cpuUsage();
    expect(lineDiff(text("a"), text("b"))).toHaveLength(ROWS_SHOWN_MAX + 1);
    const { user } = process.cpuUsage(started);
    expect(user / 1_000).toBeLessThan(5_000);
  });
});
