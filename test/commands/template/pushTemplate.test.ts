import { describe, expect, test } from "bun:test";
import { pushTemplate } from "../../../src/commands/template/pushTemplate.ts";
import { pushTemplates } from "../../../src/commands/template/pushTemplates.ts";
import { templateStream } from "../../../src/domain/template/events.ts";
import { templateIdOfAlias } from "../../../src/domain/template/templateAlias.ts";
import { TEMPLATES_MAX } from "../../../src/domain/template/templateLimits.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { newKey, SENDER } from "../../support/tenants.ts";

const PATH = "/api/v1/templates";

describe.each(await testStores())("a push beside the running service on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const push = (alias: string, text: string, { isDryRun = false, count = async () => 0 } = {}) => {
    const version = { subject: "Hi", html: null, text, variables: [], bytes: text.length };
    const options = { isPublished: true, isDryRun, count };
    const context = { ...systemCommandContext("cli"), workspaceId: tenant.workspaceId };
    return pushTemplate(service.log, { alias, name: "Welcome", version }, options, context);
  };
  const named = async (alias: string) => (await tenant.call("GET", `${PATH}?alias=${alias}`)).json.data[0];
  const versionsOf = async (id: string) => (await tenant.call("GET", `${PATH}/${id}/versions`)).json.data;

  const publishByApi = async (alias: string, text: string) => {
    const { id } = (await tenant.call("POST", PATH, { body: { name: "Welcome", alias } })).json;
    const { json } = await tenant.call("POST", `${PATH}/${id}/versions`, { body: { subject: "Hi", text } });
    await tenant.call("POST", `${PATH}/${id}/versions/${json.id}/publish`);
  };

  test("is what the service sends next", async () => {
    await push("sent", "first");
    const body = { from: SENDER, to: "ana@example.com", template_alias: "sent" };
    const { json } = await tenant.send(newKey(), body);
    expect((await tenant.call("GET", `/api/v1/emails/${json.id}`)).json.text).toBe("first");
  });

  test("writes nothing in a dry run, and says the same", async () => {
    const planned = await push("dry", "text", { isDryRun: true });
    expect(await named("dry")).toBeUndefined();
    expect(await push("dry", "text")).toEqual(planned);
    expect(planned).toMatchObject({ number: 1, changes: { length: 3 } });
  });

  test("leaves a version with this content that the API has published", async () => {
    await publishByApi("by-api", "one\r\ntwo");
    expect(await push("by-api", "one\ntwo")).toEqual({ changes: [], number: 1 });
    expect(await push("by-api", "one\ntwo\n")).toMatchObject({ number: 2 });
  });

  test("adds nothing to what the API has published since the push began", async () => {
    const overtaken = async () => {
      await publishByApi("overtaken", "text");
      return 0;
    };
    expect(await push("overtaken", "text", { count: overtaken })).toEqual({ changes: [], number: 1 });
  });

  test("stops once the store fails, and says what became of each template", async () => {
    const { templates } = service.log;
    const failing: typeof templates.transact = (id, ...call) => {
      if (id === templateIdOfAlias(tenant.workspaceId, "fails")) throw new StoreError("unavailable", "away");
      return templates.transact(id, ...call);
    };
    const log = { ...service.log, templates: { ...templates, transact: failing } };
    const version = { subject: "Hi", html: null, text: "text", variables: [], bytes: 4 };
    const pushed = ["works", "fails", "later"].map((alias) => ({ alias, name: "Welcome", version }));
    const options = { isPublished: true, isDryRun: false, existing: async () => 0 };
    const context = { ...systemCommandContext("cli"), workspaceId: tenant.workspaceId };
    expect(await pushTemplates(log, pushed, options, context)).toMatchObject({
      pushed: [{ alias: "works", number: 1 }],
      unpushed: [
        { alias: "fails", reason: { message: "away" } },
        { alias: "later", reason: "notTried" },
      ],
    });
    expect(await named("later")).toBeUndefined();
  });

  test("counts the templates that it creates itself against the workspace's limit", async () => {
    const version = { subject: "Hi", html: null, text: "text", variables: [], bytes: 4 };
    const toPush = ["last", "over"].map((alias) => ({ alias, name: "Welcome", version }));
    const options = { isPublished: true, isDryRun: true, existing: async () => TEMPLATES_MAX - 1 };
    const context = { ...systemCommandContext("cli"), workspaceId: tenant.workspaceId };
    expect(await pushTemplates(service.log, toPush, options, context)).toMatchObject({
      pushed: [{ alias: "last" }],
      unpushed: [{ alias: "over", reason: "templatesUsedUp" }],
    });
  });

  test("is made once if it is made several times at once, whoever creates the template", async () => {
    for (const alias of ["raced-1", "raced-2", "raced-3"]) {
      await Promise.all([
        push(alias, "text"),
        tenant.call("POST", PATH, { body: { name: "Welcome", alias } }),
        push(alias, "text"),
      ]);
      const { id } = await named(alias);
      expect(await versionsOf(id)).toMatchObject([{ number: 1, text: "text", status: "published" }]);
      const events = await service.log.store.read(templateStream(id), 0, 10);
      expect(events.map(({ type }) => type)).toEqual([
        "TemplateCreated",
        "TemplateVersionDrafted",
        "TemplateVersionPublished",
      ]);
    }
  });
});
