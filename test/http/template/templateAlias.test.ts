import { describe, expect, test } from "bun:test";
import { readTemplateVersion } from "../../../src/commands/template/readTemplate.ts";
import { expectProblem, problemOf } from "../../support/expectProblem.ts";
import type { Caller } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";

const PATH = "/api/v1/templates";

describe.each(await testStores())("a template with an alias on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const create = (alias: string, name = "Welcome", caller: Caller = tenant) =>
    caller.call("POST", PATH, { body: { name, alias } });
  const publish = async (id: string, text: string) => {
    const { json } = await tenant.call("POST", `${PATH}/${id}/versions`, { body: { subject: "Hi", text } });
    expect((await tenant.call("POST", `${PATH}/${id}/versions/${json.id}/publish`)).status).toBe(200);
    return json.id as string;
  };
  /** A send by a template: no content of its own. */
  const send = (parts: Record<string, unknown>, key = newKey()) => {
    const { subject: _, text: __, ...rest } = message(parts);
    return tenant.send(key, rest);
  };
  const readEmail = async (id: string) => (await tenant.call("GET", `/api/v1/emails/${id}`)).json;

  test("is created once: the same request is answered with it, another one names it", async () => {
    const { status, json, headers } = await create("created.once");
    expect(status).toBe(201);
    expect(json).toMatchObject({ object: "template", alias: "created.once", status: "draft" });
    const again = await create("created.once");
    expect({ status: again.status, json: again.json }).toEqual({ status: 200, json });
    expect(again.headers.get("location")).toBe(headers.get("location"));
    const other = await create("created.once", "Another name");
    expectProblem(other, 409, "TEMPLATE_ALREADY_EXISTS", ["/alias"]);
    expect(other.json.detail).toContain(json.id);
    await tenant.call("POST", `${PATH}/${json.id}/archive`);
    expectProblem(await create("created.once"), 409, "TEMPLATE_ALREADY_EXISTS");
  });

  test("is created by one of several requests at once", async () => {
    const names = ["One", "One", "Two", "Two", "Two"];
    const answers = await Promise.all(names.map((name) => create("raced", name)));
    const created = answers.find(({ status }) => status === 201)?.json;
    expect(answers.map(problemOf)).toEqual(
      answers.map((answer, index) =>
        names[index] === created.name
          ? { status: answer.json.id === created.id && answer.status === 201 ? 201 : 200, code: undefined }
          : { status: 409, code: "TEMPLATE_ALREADY_EXISTS" },
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  test("is another workspace's own", async () => {
    const other = await service.tenant();
    const [ours, theirs] = [await create("shared"), await create("shared", "Theirs", other)];
    expect([ours.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.json.id).not.toBe(ours.json.id);
    const listed = await other.call("GET", `${PATH}?alias=shared`);
    expect(listed.json).toEqual({ data: [theirs.json], next_cursor: null });
  });

  test("is found by it, and shows it in lists", async () => {
    const { json } = await create("found");
    expect((await tenant.call("GET", `${PATH}?alias=found`)).json.data).toEqual([json]);
    expect((await tenant.call("GET", `${PATH}?alias=not-found`)).json.data).toEqual([]);
    expect((await tenant.call("GET", `${PATH}/${json.id}`)).json).toEqual(json);
    const { data } = (await tenant.call("GET", PATH)).json;
    expect(data.find(({ id }: { id: string }) => id === json.id)).toEqual(json);
    expectProblem(await tenant.call("GET", `${PATH}?alias=No`), 400, "INVALID_REQUEST", ["/alias"]);
  });

  test.each(["", "Upper", "1st", "-a", "a b", "a/b", "ä", `a${"b".repeat(64)}`, 7, null])(
    "cannot have the alias %p",
    async (alias) => {
      const answer = await tenant.call("POST", PATH, { body: { name: "n", alias } });
      expectProblem(answer, 400, "INVALID_REQUEST", ["/alias"]);
    },
  );

  test("keeps it", async () => {
    const { json } = await create(`a${"b".repeat(63)}`);
    const body = { name: "Renamed", alias: "another" };
    const refused = await tenant.call("PATCH", `${PATH}/${json.id}`, { body });
    expectProblem(refused, 400, "INVALID_REQUEST", ["/alias"]);
    expect(refused.json.detail).toContain("keeps its alias");
  });

  test("is sent by it: what is published now, or the version that the send names", async () => {
    const { id } = (await create("sent")).json;
    const first = await publish(id, "first");
    const second = await publish(id, "second");
    const { json, status } = await send({ template_alias: "sent" });
    expect(status).toBe(202);
    expect(await readEmail(json.id)).toMatchObject({
      text: "second",
      template_id: id,
      template_version_id: second,
    });
    const pinned = await send({ template_alias: "sent", template_version_id: first });
    expect(await readEmail(pinned.json.id)).toMatchObject({ text: "first", template_version_id: first });
    const { subject: _, text: __, ...rest } = message({ template_alias: "sent" });
    const emails = [{ ...rest, idempotency_key: newKey() }];
    const batch = await tenant.call("POST", "/api/v1/emails/batch", { body: { emails } });
    expect(await readEmail(batch.json.data[0].id)).toMatchObject({ text: "second", template_id: id });
  });

  test("is what the send said: a repeat with the id is another request", async () => {
    const { id } = (await create("repeated")).json;
    await publish(id, "text");
    const key = newKey();
    const { json } = await send({ template_alias: "repeated" }, key);
    await publish(id, "a newer text");
    const again = await send({ template_alias: "repeated" }, key);
    expect({ status: again.status, json: again.json }).toEqual({ status: 202, json });
    expectProblem(await send({ template_id: id }, key), 409, "IDEMPOTENCY_CONFLICT");
  });

  test("that cannot be sent is refused as one that is named by its id", async () => {
    const unknown = await send({ template_alias: "unknown" });
    expectProblem(unknown, 422, "TEMPLATE_UNAVAILABLE", ["/template_alias"]);
    const { id } = (await create("draft")).json;
    expectProblem(await send({ template_alias: "draft" }), 422, "TEMPLATE_UNAVAILABLE", ["/template_alias"]);
    await publish(id, "text");
    const version = { template_alias: "draft", template_version_id: crypto.randomUUID() };
    expectProblem(await send(version), 422, "TEMPLATE_UNAVAILABLE", ["/template_version_id"]);
    const both = await send({ template_alias: "draft", template_id: id });
    expectProblem(both, 400, "INVALID_REQUEST", ["/template_alias"]);
    expectProblem(await send({ template_alias: "Draft" }), 400, "INVALID_REQUEST", ["/template_alias"]);
  });

  test("that is deleted leaves it to another, whose versions are its own", async () => {
    const first = (await create("taken-again")).json;
    const old = await publish(first.id, "old");
    await publish(first.id, "newer");
    const remove = async () => (await tenant.call("DELETE", `${PATH}/${first.id}`)).status;
    expect(await remove()).toBe(204);
    expectProblem(await send({ template_alias: "taken-again" }), 422, "TEMPLATE_UNAVAILABLE");
    const second = await create("taken-again", "Second");
    expect(second).toMatchObject({ status: 201, json: { id: first.id, name: "Second", status: "draft" } });
    const current = await publish(first.id, "new");
    const { json } = await send({ template_alias: "taken-again" });
    expect((await readEmail(json.id)).text).toBe("new");
    const pinned = await send({ template_alias: "taken-again", template_version_id: old });
    expectProblem(pinned, 422, "TEMPLATE_UNAVAILABLE", ["/template_version_id"]);
    // As another process reads it, which has not seen what is cut off.
    const location = { workspaceId: tenant.workspaceId, templateId: first.id };
    const read = await readTemplateVersion(service.log, location, current);
    expect(read).toMatchObject({ version: { number: 1 }, source: { text: "new" } });
    expect([await remove(), await remove()]).toEqual([204, 404]);
    expect((await create("taken-again", "Third")).status).toBe(201);
  });
});
