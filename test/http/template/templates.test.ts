import { describe, expect, test } from "bun:test";
import { templateAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { load, transact } from "../../../src/commands/transact.ts";
import { type TemplateEvent, templateStream } from "../../../src/domain/template/events.ts";
import { type TemplateState, templateIn } from "../../../src/domain/template/state.ts";
import {
  TEMPLATE_BYTES_MAX,
  VERSION_BYTES_MAX,
  VERSIONS_MAX,
} from "../../../src/domain/template/templateLimits.ts";
import { COMPRESS_ABOVE_BYTES } from "../../../src/kernel/event/eventCodec.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { rfc3339 } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { type Answer, type Caller, callerOf, startTestApp } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/templates";
const WELCOME = {
  subject: "Hello {{ name }}",
  html: "<p>Dear {{ name }}</p>",
  text: "Dear {{ name }}",
  variables: [{ name: "name", type: "string", required: true }],
};

describe.each(await testStores())("templates on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {});

  async function expectStatus(status: number, request: Promise<Answer>) {
    const answer = await request;
    expect({ status: answer.status, detail: answer.json?.detail }).toEqual({ status } as never);
    return answer.json;
  }
  const create = (caller: Caller = tenant, name = "Welcome") =>
    expectStatus(201, caller.call("POST", PATH, { body: { name } }));
  /** Adds events to the log itself: so many requests would take their time. */
  const addEvents = async (
    id: string,
    count: number,
    event: (index: number, state: TemplateState) => TemplateEvent,
  ) => {
    const decide = (state: TemplateState) => {
      const events = Array.from({ length: count }, (_, index) => event(index, state));
      return { outcome: null, events };
    };
    await transact(service.log.store, templateAggregate.of(id), decide, systemCommandContext("test"));
  };
  const tryDraft = (id: string, parts: Record<string, unknown> = {}, caller: Caller = tenant) =>
    caller.call("POST", `${PATH}/${id}/versions`, { body: { ...WELCOME, ...parts } });
  const draft = (id: string, parts?: Record<string, unknown>, caller?: Caller) =>
    expectStatus(201, tryDraft(id, parts, caller));
  const tryPublish = (id: string, version: string, caller: Caller = tenant) =>
    caller.call("POST", `${PATH}/${id}/versions/${version}/publish`);
  const read = (path: string, caller: Caller = tenant) => expectStatus(200, caller.call("GET", path));
  const archive = (id: string, caller: Caller = tenant) =>
    expectStatus(200, caller.call("POST", `${PATH}/${id}/archive`));
  const tryPreview = (id: string, version: string, variables?: unknown, caller: Caller = tenant) =>
    caller.call("POST", `${PATH}/${id}/versions/${version}/preview`, {
      body: variables === undefined ? {} : { variables },
    });
  const publishedTemplate = async (parts?: Record<string, unknown>, caller: Caller = tenant) => {
    const { id } = await create(caller);
    const version = await draft(id, parts, caller);
    await expectStatus(200, tryPublish(id, version.id, caller));
    return { id, versionId: version.id as string };
  };
  /** A send by a template: no content of its own. */
  const sendTemplate = (template_id: string, parts: Record<string, unknown> = {}) => {
    const { subject: _, text: __, ...rest } = message({ template_id, variables: { name: "Ana" }, ...parts });
    return rest;
  };

  test("a message that is sent again keeps its content, template and version when another is published", async () => {
    const { id, versionId } = await publishedTemplate({ subject: "Wrong" });
    const sent = await expectStatus(202, tenant.send(newKey(), sendTemplate(id)));
    const { id: next } = await draft(id, { subject: "Right" });
    await expectStatus(200, tryPublish(id, next));
    const headers = { "idempotency-key": newKey() };
    const again = await expectStatus(
      202,
      tenant.call("POST", `/api/v1/emails/${sent.id}/send-again`, { headers }),
    );
    const made = { subject: "Wrong", template_id: id, template_version_id: versionId };
    expect(await read(`/api/v1/emails/${again.id}`)).toMatchObject(made);
  });

  describe("a template", () => {
    test("is created as a draft without a version", async () => {
      const answer = await tenant.call("POST", PATH, { body: { name: "Welcome" } });
      expect(answer.status).toBe(201);
      const { json } = answer;
      expect(json).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        object: "template",
        name: "Welcome",
        alias: null,
        status: "draft",
        current_version_id: null,
        created_at: json.created_at,
        updated_at: json.created_at,
      });
      expect(new Date(json.created_at).toISOString()).toBe(json.created_at);
      expect(answer.headers.get("location")).toBe(`${PATH}/${json.id}`);
      expect(await read(`${PATH}/${json.id}`)).toEqual(json);
      expect(await read(`${PATH}/${json.id.toUpperCase()}`)).toEqual(json);
    });

    test.each<[string, Record<string, unknown>, string]>([
      ["no name", {}, "/name"],
      ["an empty name", { name: "" }, "/name"],
      ["a name of 201 characters", { name: "n".repeat(201) }, "/name"],
      ["a name of spaces", { name: "  " }, "/name"],
      ["a name with an escape", { name: "\u001b[8mhidden" }, "/name"],
      ["a name with a character that cannot be seen", { name: "re\u200bset" }, "/name"],
      ["a name that is no text", { name: 1 }, "/name"],
      ["an unknown field", { name: "n", subject: "s" }, "/subject"],
    ])("with %s is refused", async (_what, body, pointer) => {
      const answer = await tenant.call("POST", PATH, { body });
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors[0].pointer).toBe(pointer);
    });

    test("takes a name of 200 characters, emoji as well", async () => {
      expect((await create(tenant, "✉️".repeat(100))).name).toBe("✉️".repeat(100));
    });

    test("is renamed, in lists too, and keeps everything else", async () => {
      const { id, versionId } = await publishedTemplate();
      const rename = (body: unknown) => tenant.call("PATCH", `${PATH}/${id}`, { body });
      const renamed = await expectStatus(200, rename({ name: "Renamed" }));
      expect(renamed).toMatchObject({
        id,
        name: "Renamed",
        status: "published",
        current_version_id: versionId,
      });
      expect(await read(`${PATH}/${id}`)).toEqual(renamed);
      expect(await expectStatus(200, rename({ name: "Renamed" }))).toEqual(renamed);
      expect((await read(`${PATH}?limit=1`)).data).toEqual([renamed]);
      for (const body of [{}, { name: "  " }, { name: "n".repeat(201) }, { name: "n", status: "draft" }])
        expectProblem(await rename(body), 400, "INVALID_REQUEST");
      await archive(id);
      expectProblem(await rename({ name: "Again" }), 409, "TEMPLATE_ARCHIVED");
    });

    test("is published with its version, and archived for good", async () => {
      const { id, versionId } = await publishedTemplate();
      expect(await read(`${PATH}/${id}`)).toMatchObject({
        status: "published",
        current_version_id: versionId,
      });
      const archived = await archive(id);
      expect(archived).toMatchObject({ id, status: "archived", current_version_id: versionId });
      expect(await archive(id)).toEqual(archived);
      expect(await read(`${PATH}/${id}`)).toEqual(archived);
      expectProblem(await tryDraft(id), 409, "TEMPLATE_ARCHIVED");
      expectProblem(await tryPublish(id, versionId), 409, "TEMPLATE_ARCHIVED");
      expect((await read(`${PATH}/${id}/versions`)).data).toHaveLength(1);
    });

    test("that is not there, or is another workspace's, is not found by any operation", async () => {
      const otherTenant = await service.tenant();
      const { id, versionId } = await publishedTemplate();
      const requests = [
        [otherTenant, id, versionId],
        [tenant, newId(), newId()],
      ] as const;
      for (const [caller, template, version] of requests) {
        const path = `${PATH}/${template}`;
        for (const answer of [
          await caller.call("GET", path),
          await caller.call("POST", `${path}/archive`),
          await caller.call("PATCH", path, { body: { name: "Theirs" } }),
          await tryDraft(template, {}, caller),
          await caller.call("GET", `${path}/versions`),
          await caller.call("GET", `${path}/versions/${version}`),
          await tryPublish(template, version, caller),
          await tryPreview(template, version, {}, caller),
        ]) {
          expectProblem(answer, 404, "NOT_FOUND");
        }
      }
      expect((await read(`${PATH}/${id}`)).status).toBe("published");
      expect((await read(PATH, otherTenant)).data).toEqual([]);
    });
  });

  describe("the list", () => {
    test("shows at once what was written, newest first, in pages that a cursor joins", async () => {
      const own = await service.tenant();
      const ids: string[] = [];
      for (let index = 0; index < 5; index += 1) {
        ids.unshift((await create(own, `n${index}`)).id);
        expect((await read(PATH, own)).data.map(({ id }: { id: string }) => id)).toEqual(ids);
      }
      const all = (await read(PATH, own)).data;
      const first = await read(`${PATH}?limit=3`, own);
      const second = await read(`${PATH}?limit=3&cursor=${first.next_cursor}`, own);
      expect([...first.data, ...second.data]).toEqual(all);
      expect(second.next_cursor).toBeNull();
    });

    test("shows a template as reading it does, whatever happened to it", async () => {
      const own = await service.tenant();
      const { id } = await publishedTemplate({}, own);
      expect((await read(PATH, own)).data).toEqual([await read(`${PATH}/${id}`, own)]);
      const second = await draft(id, {}, own);
      await expectStatus(200, tryPublish(id, second.id, own));
      expect((await read(PATH, own)).data).toEqual([await read(`${PATH}/${id}`, own)]);
      await archive(id, own);
      expect((await read(PATH, own)).data).toEqual([await read(`${PATH}/${id}`, own)]);
    });

    test.each(["?limit=0", "?limit=101", "?cursor=x", "?status=draft"])(
      "with %p is refused",
      async (query) => {
        const { id } = await create();
        expectProblem(await tenant.call("GET", PATH + query), 400, "INVALID_REQUEST");
        expectProblem(await tenant.call("GET", `${PATH}/${id}/versions${query}`), 400, "INVALID_REQUEST");
      },
    );
  });

  describe("a version", () => {
    test("is drafted with a number, and read as it was drafted", async () => {
      const { id } = await create();
      const variables = [
        { name: "name", type: "string", required: true },
        { name: "since", type: "date", required: false, default: "2030-01-31" },
        { name: "items", type: "list", default: [1, { a: null }] },
      ];
      const answer = await tryDraft(id, { variables, text: null });
      expect(answer.status).toBe(201);
      const { json } = answer;
      expect(json).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        object: "template_version",
        template_id: id,
        number: 1,
        status: "draft",
        subject: WELCOME.subject,
        html: WELCOME.html,
        text: null,
        variables: [variables[0], variables[1], { ...variables[2], required: false }],
        created_at: expect.any(String),
        published_at: null,
      });
      expect(answer.headers.get("location")).toBe(`${PATH}/${id}/versions/${json.id}`);
      expect(await read(`${PATH}/${id}/versions/${json.id}`)).toEqual(json);
      expect((await draft(id)).number).toBe(2);
      expect((await read(`${PATH}/${id}`)).status).toBe("draft");
    });

    test("never changes: publishing and later versions leave it as it was", async () => {
      const { id } = await create();
      const first = await draft(id);
      const published = await expectStatus(200, tryPublish(id, first.id));
      expect(published).toEqual({ ...first, status: "published", published_at: expect.any(String) });
      expect(await expectStatus(200, tryPublish(id, first.id))).toEqual(published);
      const second = await draft(id, { subject: "Other" });
      await expectStatus(200, tryPublish(id, second.id));
      await archive(id);
      expect(await read(`${PATH}/${id}/versions/${first.id}`)).toEqual(published);
      // Whatever a client may think of to change it.
      for (const method of ["PUT", "PATCH", "DELETE"]) {
        const path = `${PATH}/${id}/versions/${first.id}`;
        expectProblem(await tenant.call(method, path, { body: WELCOME }), 405, "METHOD_NOT_ALLOWED");
      }
    });

    test("is listed newest first, in pages that a cursor joins", async () => {
      const { id } = await create();
      const drafts = [];
      for (let index = 0; index < 5; index += 1) drafts.unshift(await draft(id, { subject: `s${index}` }));
      expect(await read(`${PATH}/${id}/versions`)).toEqual({ data: drafts, next_cursor: null });
      const first = await read(`${PATH}/${id}/versions?limit=3`);
      const second = await read(`${PATH}/${id}/versions?limit=3&cursor=${first.next_cursor}`);
      expect([...first.data, ...second.data]).toEqual(drafts);
      expect(second.next_cursor).toBeNull();
    });

    test("of another template is not found in this one", async () => {
      const { id } = await create();
      const { id: other } = await create();
      const { id: version } = await draft(other);
      expectProblem(await tenant.call("GET", `${PATH}/${id}/versions/${version}`), 404, "NOT_FOUND");
      expectProblem(await tryPublish(id, version), 404, "NOT_FOUND");
      expectProblem(await tryPreview(id, version), 404, "NOT_FOUND");
    });

    test("that many draft at once has a number of its own", async () => {
      const { id } = await create();
      const drafts = await Promise.all(Array.from({ length: 8 }, () => draft(id)));
      const numbers = drafts.map(({ number }) => number).sort();
      expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    });

    const variable = (parts: Record<string, unknown>) => ({
      variables: [{ name: "x", type: "string", ...parts }],
    });
    test.each<[string, Record<string, unknown>, string]>([
      ["an empty subject", { subject: "" }, "/subject"],
      ["a subject of two lines", { subject: "a\nb" }, "/subject"],
      ["a subject with a C1 control", { subject: "a\u009b31mb" }, "/subject"],
      ["a subject of 2,001 characters", { subject: "s".repeat(2_001) }, "/subject"],
      ["neither html nor text", { html: null, text: "" }, "/html"],
      ["unsound Liquid in its subject", { subject: "{{ a" }, "/subject"],
      ["unsound Liquid in its html", { html: "{% if a %}" }, "/html"],
      ["an unknown filter in its text", { text: "{{ a | nope }}" }, "/text"],
      ["a file in its html", { html: "{% include 'a' %}" }, "/html"],
      ["an unknown field", { number: 7 }, "/number"],
      ["a variable without a name", variable({ name: "" }), "/variables/0/name"],
      ["a variable of a name that is no name", variable({ name: "a-b" }), "/variables/0/name"],
      ["a variable called __proto__", variable({ name: "__proto__" }), "/variables/0/name"],
      ["a variable called as Liquid does", variable({ name: "empty" }), "/variables/0/name"],
      ["a variable of an unknown type", variable({ type: "text" }), "/variables/0/type"],
      ["a variable with an unknown field", variable({ label: "X" }), "/variables/0/label"],
      ["a default of another type", variable({ default: 1 }), "/variables/0/default"],
      ["a default that is null", variable({ default: null }), "/variables/0/default"],
      ["a default that is never used", variable({ required: true, default: "x" }), "/variables/0/default"],
      [
        "two variables of one name",
        { variables: [1, 2].map(() => ({ name: "x", type: "string" })) },
        "/variables/1/name",
      ],
      [
        "101 variables",
        { variables: Array.from({ length: 101 }, (_, index) => ({ name: `x${index}`, type: "string" })) },
        "/variables",
      ],
      ["more than its bytes", { html: "é".repeat(VERSION_BYTES_MAX / 2) }, "/html"],
    ])("with %s is refused", async (_what, parts, pointer) => {
      const { id } = await create();
      const answer = await tryDraft(id, parts);
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors[0].pointer).toBe(pointer);
      expect((await read(`${PATH}/${id}/versions`)).data).toEqual([]);
    });

    test("that is too large is not compiled", async () => {
      const { id } = await create();
      const parts = { subject: "{{", html: "é".repeat(VERSION_BYTES_MAX / 2) };
      expectProblem(await tryDraft(id, parts), 400, "INVALID_REQUEST", ["/html"]);
    });

    test("with several faulty parts is answered with all of them", async () => {
      const { id } = await create();
      const unsound = { subject: "{{", html: "{% if %}", text: "{{ a | nope }}" };
      const variables = [{ name: "forloop", type: "string" }];
      const pointers = ["/variables/0/name", "/subject", "/html", "/text"];
      expectProblem(await tryDraft(id, { ...unsound, variables }), 400, "INVALID_REQUEST", pointers);
    });

    test("that uses an undeclared variable is answered with its name, its line and a similar name", async () => {
      const { id } = await create();
      const parts = {
        subject: "Hello {{ nme }}",
        html: "<p>\n{{ shop.url }}</p>",
        text: "{{ name }} {{ i }}",
      };
      const answer = await tryDraft(id, parts);
      expectProblem(answer, 400, "INVALID_REQUEST", ["/subject", "/html", "/text"]);
      expect(answer.json.errors.map(({ message }: { message: string }) => message)).toEqual([
        "uses nme in line 1, which is not in variables: did you mean name?",
        "uses shop in line 2, which is not in variables: declare it in variables",
        "uses i in line 1, which is not in variables: declare it in variables",
      ]);
    });

    test("may use what it makes itself: items of loops, assigned and captured names", async () => {
      const { id } = await create();
      const text = `{% assign x = name | split: " " %}{% for i in x %}{{ forloop.index }} {{ i }}{% endfor %}
        {% capture y %}{{ x.first }}{% endcapture %}{{ y }}`;
      expect((await tryDraft(id, { text })).status).toBe(201);
    });

    test("is answered with at most 20 of its faults", async () => {
      const { id } = await create();
      const html = Array.from({ length: 30 }, (_, index) => `{{ unknown${index} }}`).join("");
      const answer = await tryDraft(id, { html });
      expectProblem(answer, 400, "INVALID_REQUEST", Array(20).fill("/html"));
    });

    const addVersions = (id: string, count: number, bytes: number) =>
      addEvents(id, count, (index, state): TemplateEvent => {
        const number = (templateIn(state, tenant.workspaceId)?.versions.length ?? 0) + 1 + index;
        const data = {
          ...WELCOME,
          variables: [],
          versionId: newId(),
          number,
          bytes,
          at: rfc3339(Date.now()),
        };
        return { type: "TemplateVersionDrafted", data };
      });

    test("beyond the last of 2,000 is refused", async () => {
      const { id } = await create();
      await addVersions(id, VERSIONS_MAX - 1, 100);
      expect((await draft(id)).number).toBe(VERSIONS_MAX);
      for (const _ of [1, 2]) expectProblem(await tryDraft(id), 409, "TEMPLATE_LIMIT_REACHED");
    });

    test("beyond the bytes of all of a template's versions is refused", async () => {
      const { id } = await create();
      await draft(id);
      const { state } = await load(service.log.store, templateAggregate.of(id));
      const { bytes = 0 } = templateIn(state, tenant.workspaceId)?.versions[0] ?? {};
      await addVersions(id, 1, TEMPLATE_BYTES_MAX - 2 * bytes);
      expectProblem(await tryDraft(id, { subject: `${WELCOME.subject}!` }), 409, "TEMPLATE_LIMIT_REACHED");
      expect((await draft(id)).number).toBe(3);
      expectProblem(await tryDraft(id), 409, "TEMPLATE_LIMIT_REACHED");
    });

    test("of nearly all the bytes there may be comes back whole, and is stored compressed", async () => {
      const { id } = await create();
      const html = `<p>{{ name }}</p>${"<td>word</td>".repeat(20_000)}`;
      const version = await draft(id, { html });
      expect((await read(`${PATH}/${id}/versions/${version.id}`)).html).toBe(html);
      const [, stored] = await service.log.store.read(templateStream(id), 0, 2);
      const { data } = stored ?? {};
      expect(data).toBeInstanceOf(Uint8Array);
      expect(data instanceof Uint8Array && data.byteLength < COMPRESS_ABOVE_BYTES).toBeTrue();
    });
  });

  describe("a preview", () => {
    test("shows what a draft comes to: html escaped, subject and text not", async () => {
      const { id } = await create();
      const version = await draft(id);
      const answer = await tryPreview(id, version.id, { name: "<Ana & co>" });
      expect(answer.json).toEqual({
        object: "template_preview",
        subject: "Hello <Ana & co>",
        html: "<p>Dear &lt;Ana &amp; co&gt;</p>",
        text: "Dear <Ana & co>",
      });
      expect((await read(`${PATH}/${id}`)).status).toBe("draft");
    });

    test("of a part that there is not, or that is empty, is null", async () => {
      const { id } = await create();
      const version = await draft(id, { html: null, text: "{{ name }}" });
      expect((await tryPreview(id, version.id, { name: "x" })).json).toMatchObject({ html: null, text: "x" });
      const blank = await draft(id, { html: "{% if name %}{% endif %}", text: "t" });
      expect((await tryPreview(id, blank.id, { name: "x" })).json).toMatchObject({ html: null, text: "t" });
    });

    test("of an archived template's version is still there", async () => {
      const { id, versionId } = await publishedTemplate();
      await archive(id);
      expect((await tryPreview(id, versionId, { name: "x" })).status).toBe(200);
    });

    test("takes as many variables as a send", async () => {
      const { id, versionId } = await publishedTemplate();
      expect((await tryPreview(id, versionId, { name: "n".repeat(99_900) })).json.code).toBe(
        "INVALID_TEMPLATE_DATA",
      );
      const name = "n".repeat(100_000);
      expectProblem(await tryPreview(id, versionId, { name }), 400, "INVALID_REQUEST", ["/variables"]);
      expectProblem(await tryPreview(id, versionId, [1]), 400, "INVALID_REQUEST");
    });
  });

  describe("wrong data", () => {
    const definitions = [
      { name: "name", type: "string", required: true },
      { name: "count", type: "number", required: true },
      { name: "isNew", type: "boolean" },
      { name: "due", type: "date" },
      { name: "items", type: "list" },
      { name: "shop", type: "object" },
    ];
    const wrongValues = { count: "1", isNew: 1, due: "tomorrow", items: {}, shop: [] };
    const all = ["name", "count", "isNew", "due", "items", "shop"].map((name) => `/variables/${name}`);

    test("is reported completely, by a send and by a preview", async () => {
      const { id, versionId } = await publishedTemplate({ variables: definitions });
      expectProblem(await tryPreview(id, versionId, wrongValues), 422, "INVALID_TEMPLATE_DATA", all);
      const answer = await tenant.send(newKey(), sendTemplate(id, { variables: wrongValues }));
      expectProblem(answer, 422, "INVALID_TEMPLATE_DATA", all);
      const without = sendTemplate(id);
      delete without.variables;
      expectProblem(await tenant.send(newKey(), without), 422, "INVALID_TEMPLATE_DATA", all.slice(0, 2));
    });

    test("is repaired by a retry with the same key", async () => {
      const { id } = await publishedTemplate();
      const key = newKey();
      expectProblem(
        await tenant.send(key, sendTemplate(id, { variables: {} })),
        422,
        "INVALID_TEMPLATE_DATA",
      );
      expect((await tenant.send(key, sendTemplate(id))).status).toBe(202);
    });

    const subject = { subject: "{{ name }}", variables: [{ name: "name", type: "string" }] };
    test.each<[string, Record<string, unknown>, unknown, readonly string[]]>([
      ["a line break in the subject", subject, "a\r\nBcc: b@example.com", ["/subject"]],
      ["a line feed in the subject", subject, "a\nb", ["/subject"]],
      ["NUL in the subject", subject, "a\0b", ["/subject"]],
      ["a C1 control in the subject", subject, "a\u009b31mb", ["/subject"]],
      ["an empty subject", subject, "", ["/subject"]],
      ["a subject of 999 characters", subject, "s".repeat(999), ["/subject"]],
      ["neither html nor text", { html: "{{ name.none }}", text: null }, "x", ["/html"]],
      [
        "html of 500,001 characters",
        { subject: "s", html: `{% for i in (1..9) %}{{ name }}{% endfor %}${"h".repeat(100_001)}` },
        "n".repeat(44_445),
        ["/html"],
      ],
      [
        "text of 200,001 characters",
        { subject: "s", html: null, text: "{% for i in (1..4) %}{{ name }}{% endfor %}t" },
        "n".repeat(50_000),
        ["/text"],
      ],
      [
        "a subject and an html that are empty",
        { ...subject, html: "{{ name }}", text: null },
        "",
        ["/subject", "/html"],
      ],
      ["a loop without end", { html: "{% for i in (1..999999999) %}x{% endfor %}" }, "x", ["/variables"]],
      [
        "a division of a text",
        { html: "{{ '%' | url_decode }}", text: "{{ '%' | url_decode }}" },
        "x",
        ["/variables", "/variables"],
      ],
    ])("is %s once it is rendered", async (_what, parts, name, pointers) => {
      const { id } = await publishedTemplate(parts);
      const send = sendTemplate(id, { variables: { name } });
      expectProblem(await tenant.send(newKey(), send), 422, "INVALID_TEMPLATE_DATA", pointers);
    });

    test("is what lies over the limits: right at them a message is accepted", async () => {
      const parts = {
        subject: "{{ name | slice: 0, 998 }}",
        html: "{% for i in (1..10) %}{{ name }}{% endfor %}",
        text: "{% for i in (1..4) %}{{ name }}{% endfor %}",
      };
      const { id } = await publishedTemplate(parts);
      const accepted = await tenant.send(
        newKey(),
        sendTemplate(id, { variables: { name: "é".repeat(50_000) } }),
      );
      expect(accepted.status).toBe(202);
      const email = await read(`/api/v1/emails/${accepted.json.id}`);
      expect([email.subject, email.html, email.text].map((text) => text.length)).toEqual([
        998, 500_000, 200_000,
      ]);
    });
  });

  describe("a send", () => {
    const content = async (answer: Answer) => {
      expect({ status: answer.status, detail: answer.json.detail }).toEqual({ status: 202 } as never);
      return read(`/api/v1/emails/${answer.json.id}`);
    };

    test("keeps what was rendered, and says by which version", async () => {
      const { id, versionId } = await publishedTemplate();
      const email = await content(
        await tenant.send(newKey(), sendTemplate(id, { variables: { name: "<Ana>" } })),
      );
      expect(email).toMatchObject({
        subject: "Hello <Ana>",
        html: "<p>Dear &lt;Ana&gt;</p>",
        text: "Dear <Ana>",
        template_id: id,
        template_version_id: versionId,
      });
      const stored = await service.log.store.read(`email-${email.id}`, 1, 1);
      expect(stored[0]?.data).toMatchObject({ templateId: id, templateVersionId: versionId });
    });

    test("takes its whole content from the template, whatever stands beside it", async () => {
      const { id } = await publishedTemplate({ html: null });
      const withOwnContent = sendTemplate(id, { subject: "Own", html: "<p>own</p>", text: "own" });
      const email = await content(await tenant.send(newKey(), withOwnContent));
      expect(email).toMatchObject({ subject: "Hello Ana", html: null, text: "Dear Ana" });
    });

    test("without a version uses the one that was published last; with one, that one", async () => {
      const { id, versionId: first } = await publishedTemplate();
      const second = await draft(id, { subject: "Second" });
      const subjectOf = async (parts?: Record<string, unknown>) =>
        (await content(await tenant.send(newKey(), sendTemplate(id, parts)))).subject;
      expect(await subjectOf()).toBe("Hello Ana");
      await expectStatus(200, tryPublish(id, second.id));
      expect(await subjectOf()).toBe("Second");
      expect(await subjectOf({ template_version_id: first })).toBe("Hello Ana");
      expect(
        await subjectOf({ template_id: id.toUpperCase(), template_version_id: first.toUpperCase() }),
      ).toBe("Hello Ana");
      await expectStatus(200, tryPublish(id, first));
      expect(await subjectOf()).toBe("Hello Ana");
    });

    test("fills in defaults, ignores what the template does not declare, and prints dates in UTC", async () => {
      const { id } = await publishedTemplate({
        text: "{{ greeting }} {{ shop.extra }} {{ at | date: '%Y-%m-%d %H:%M' }} {{ price | times: 2 }}",
        variables: [
          { name: "greeting", type: "string", default: "Hi" },
          { name: "at", type: "date" },
          { name: "price", type: "number", default: 2.5 },
          { name: "name", type: "string" },
          { name: "shop", type: "object" },
        ],
      });
      const variables = {
        name: "x",
        shop: { extra: "b" },
        unknown: { a: "b" },
        at: "2030-01-01T01:30:00+02:00",
        price: null,
      };
      const email = await content(await tenant.send(newKey(), sendTemplate(id, { variables })));
      expect(email.text).toBe("Hi b 2029-12-31 23:30 5");
    });

    describe("is TEMPLATE_UNAVAILABLE", () => {
      const UNKNOWN = ["/template_id", "is not a template of this workspace"] as const;
      const UNKNOWN_VERSION = ["/template_version_id", "is not a version of this template"] as const;
      const DRAFT = ["/template_version_id", "is a draft: publish it"] as const;
      const UNPUBLISHED = ["/template_id", "has no published version"] as const;
      const ARCHIVED = ["/template_id", "is archived"] as const;
      const refused = async (
        parts: Record<string, unknown>,
        [pointer, message]: readonly [string, string],
      ) => {
        const answer = await tenant.send(newKey(), sendTemplate("", parts));
        expectProblem(answer, 422, "TEMPLATE_UNAVAILABLE");
        expect(answer.json.errors).toEqual([{ pointer, message: expect.stringContaining(message) }]);
      };

      test("with an unknown template", () => refused({ template_id: newId() }, UNKNOWN));

      test("with a template that has no version, or only drafts", async () => {
        const { id } = await create();
        await refused({ template_id: id }, UNPUBLISHED);
        const version = await draft(id);
        await refused({ template_id: id }, UNPUBLISHED);
        await refused({ template_id: id, template_version_id: version.id }, DRAFT);
      });

      test("with a draft of a published template, and an unknown version", async () => {
        const { id } = await publishedTemplate();
        await refused({ template_id: id, template_version_id: (await draft(id)).id }, DRAFT);
        await refused({ template_id: id, template_version_id: newId() }, UNKNOWN_VERSION);
      });

      test("with an archived template, and each of its versions", async () => {
        const { id, versionId } = await publishedTemplate();
        await archive(id);
        await refused({ template_id: id }, ARCHIVED);
        await refused({ template_id: id, template_version_id: versionId }, ARCHIVED);
      });

      test("with another workspace's template, or its version in one's own", async () => {
        const { id, versionId } = await publishedTemplate({}, await service.tenant());
        await refused({ template_id: id }, UNKNOWN);
        await refused({ template_id: id, template_version_id: versionId }, UNKNOWN);
        const own = await publishedTemplate();
        await refused({ template_id: own.id, template_version_id: versionId }, UNKNOWN_VERSION);
      });

      test("with a version of another template of one's own", async () => {
        const [one, other] = [await publishedTemplate(), await publishedTemplate()];
        await refused({ template_id: one.id, template_version_id: other.versionId }, UNKNOWN_VERSION);
      });
    });

    test("that was accepted is answered again after a new version, and after the archive", async () => {
      const { id } = await publishedTemplate();
      const key = newKey();
      const first = await tenant.send(key, sendTemplate(id));
      const second = await draft(id, {
        subject: "Second",
        html: null,
        text: "{{ city }}",
        variables: [{ name: "city", type: "string", required: true }],
      });
      const expectReplay = async () => {
        const answer = await tenant.send(key, sendTemplate(id));
        expect(answer.json).toEqual(first.json);
        expect(answer.headers.get("idempotent-replayed")).toBe("true");
      };
      await expectStatus(200, tryPublish(id, second.id));
      await expectReplay();
      await archive(id);
      await expectReplay();
      expectProblem(
        await tenant.send(key, sendTemplate(id, { variables: { name: "Bo" } })),
        409,
        "IDEMPOTENCY_CONFLICT",
      );
      expect((await content(first)).subject).toBe("Hello Ana");
    });

    test("is as it was after the service starts anew", async () => {
      const { id } = await publishedTemplate();
      await service.restart();
      expect((await content(await tenant.send(newKey(), sendTemplate(id)))).subject).toBe("Hello Ana");
    });
  });

  if (store.isShared) {
    test("what one instance publishes and archives holds on another one", async () => {
      const other = await startTestApp({ env: { ...store.env, BOOTSTRAP: "off", DELIVERY: "off" } });
      try {
        const otherInstance = callerOf(other.url, tenant.apiKey);
        const { id } = await publishedTemplate();
        const sentSubject = async () => {
          const answer = await otherInstance.send(newKey(), sendTemplate(id));
          return answer.status === 202
            ? (await read(`/api/v1/emails/${answer.json.id}`)).subject
            : answer.json.code;
        };
        expect(await sentSubject()).toBe("Hello Ana");
        const second = await draft(id, { subject: "Second" });
        await expectStatus(200, tryPublish(id, second.id));
        await until(async () => (await sentSubject()) === "Second", "the new version on the other instance");
        const listed = async () => (await otherInstance.call("GET", PATH)).json.data?.[0]?.current_version_id;
        await until(async () => (await listed()) === second.id, "the list of the other instance");
        await archive(id);
        await until(
          async () => (await sentSubject()) === "TEMPLATE_UNAVAILABLE",
          "the archive on the other instance",
        );
      } finally {
        await other.remove();
      }
    }, 60_000);
  }
});
