import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { templateAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { AuditSealer } from "../../../src/commands/audit/auditSealer.ts";
import { newTemplate } from "../../../src/commands/template/manageTemplates.ts";
import { toNewEvents, transact } from "../../../src/commands/transact.ts";
import { type TemplateEvent, templateStream } from "../../../src/domain/template/events.ts";
import { toErasedEvents } from "../../../src/kernel/event/erasedEventHashes.ts";
import { rfc3339 } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import type { Answer } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { verifyWholeLog } from "../../support/verifyWholeLog.ts";

setDefaultTimeout(60_000);

const PATH = "/api/v1/templates";
const TEMPLATES_MAX = 1_000;
const CHANGES_MAX = 10_000;
const SOURCE = { subject: "Order", text: `Thank you. ${"A long line. ".repeat(500)}` };

describe.each(await testStores())("a template that is deleted on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {});

  const create = async (caller = tenant): Promise<string> =>
    (await caller.call("POST", PATH, { body: { name: "Order" } })).json.id;
  const draft = async (id: string): Promise<string> =>
    (await tenant.call("POST", `${PATH}/${id}/versions`, { body: SOURCE })).json.id;
  const publish = (id: string, version: string) =>
    tenant.call("POST", `${PATH}/${id}/versions/${version}/publish`);
  const remove = (id: string, caller = tenant) => caller.call("DELETE", `${PATH}/${id}`);
  const sendWith = (id: string) =>
    tenant.send(newKey(), message({ subject: undefined, text: undefined, template_id: id }));
  const published = async (): Promise<{ id: string; version: string }> => {
    const id = await create();
    const version = await draft(id);
    await publish(id, version);
    return { id, version };
  };
  const readLog = (id: string) => service.log.store.read(templateStream(id), 0, 100);
  const contentBytes = async (): Promise<number> =>
    (await tenant.call("GET", "/api/v1/workspace")).json.usage.content_bytes;
  const codeOf = ({ status, json }: Answer) => `${status} ${json?.code}`;

  test("is nowhere any more, with its versions", async () => {
    const { id, version } = await published();
    const remaining = await published();
    expect((await remove(id)).status).toBe(204);
    const one = `${PATH}/${id}`;
    const answers = [
      await tenant.call("GET", one),
      await tenant.call("GET", `${one}/versions`),
      await tenant.call("GET", `${one}/versions/${version}`),
      await tenant.call("POST", `${one}/versions`, { body: SOURCE }),
      await publish(id, version),
      await tenant.call("POST", `${one}/versions/${version}/preview`, { body: {} }),
      await tenant.call("POST", `${one}/archive`),
      await remove(id),
    ];
    expect(answers.map(codeOf)).toEqual(answers.map(() => "404 NOT_FOUND"));
    expect(codeOf(await sendWith(id))).toBe("422 TEMPLATE_UNAVAILABLE");
    const listed = (await tenant.call("GET", PATH)).json.data.map((template: { id: string }) => template.id);
    expect(listed).toContain(remaining.id);
    expect(listed).not.toContain(id);
    expect((await sendWith(remaining.id)).status).toBe(202);
  });

  test("leaves what was accepted with it", async () => {
    const { id } = await published();
    const { json: email } = await sendWith(id);
    await remove(id);
    const { json } = await tenant.call("GET", `/api/v1/emails/${email.id}`);
    expect(json).toMatchObject({ subject: SOURCE.subject, text: SOURCE.text, template_id: id });
  });

  test("leaves no source in the log, and frees what it took of the quota", async () => {
    const before = await contentBytes();
    const { id } = await published();
    await draft(id);
    expect(await contentBytes()).toBeGreaterThan(before + 2 * SOURCE.text.length);
    await remove(id);
    expect(await contentBytes()).toBe(before);
    expect((await readLog(id)).map(({ type, revision }) => [type, revision])).toEqual([
      ["TemplateDeleted", 4],
    ]);
  });

  test("may be archived, and is its own workspace's", async () => {
    const { id } = await published();
    await tenant.call("POST", `${PATH}/${id}/archive`);
    expect(codeOf(await remove(id, await service.tenant()))).toBe("404 NOT_FOUND");
    expect(codeOf(await remove("no-uuid"))).toBe("400 INVALID_REQUEST");
    expect((await remove(id)).status).toBe(204);
  });

  test("races with drafts and publications without a trace of them", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, version } = await published();
      const answers = await Promise.all([
        draft(id),
        publish(id, version),
        remove(id),
        draft(id),
        publish(id, version),
        sendWith(id),
      ]);
      expect((answers[2] as Answer).status).toBe(204);
      expect((await readLog(id)).map(({ type }) => type)).toEqual(["TemplateDeleted"]);
    }
  });

  test("is cut off later where that failed", async () => {
    const { id } = await published();
    const events = await readLog(id);
    const context = { ...systemCommandContext("cli"), workspaceId: tenant.workspaceId };
    const data = { workspaceId: tenant.workspaceId, at: rfc3339(context.at), erased: toErasedEvents(events) };
    const deletion = toNewEvents([{ type: "TemplateDeleted", data }], context);
    await service.log.store.append(templateStream(id), deletion, events.length - 1);
    await until(async () => (await readLog(id)).length === 1, "the rest to be truncated");
  });

  test.skipIf(store.isShared)("leaves nothing to find for who checks the log", async () => {
    const { store: log, clock } = service.log;
    const [before, after] = [await published(), await published()];
    await remove(before.id);
    const createWithAlias = async (): Promise<string> =>
      (await tenant.call("POST", PATH, { body: { name: "Order", alias: "order" } })).json.id;
    const again = await createWithAlias();
    await draft(again);
    await remove(again);
    await createWithAlias();
    await draft(again);
    const sealer = new AuditSealer({ store: log, clock, signingKey: null, actor: "worker:test" });
    do await sealer.readOn(async () => {});
    while (!(await sealer.seal()));
    await remove(after.id);
    await remove(again);
    await createWithAlias();
    expect((await verifyWholeLog(log)).shown).toEqual([]);
  });

  /** A limit is the same on every store; on EventStoreDB, to reach these takes ten seconds of a processor. */
  const atLimit = test.skipIf(store.isShared);
  atLimit("makes room for another where the workspace has as many as it can", async () => {
    const full = await service.tenant();
    const { workspaceId } = full;
    const ids: string[] = [];
    while (ids.length < TEMPLATES_MAX - 2) {
      const some = Array.from({ length: Math.min(100, TEMPLATES_MAX - 2 - ids.length) }, () =>
        newTemplate(service.log, { name: "One of many" }, async () => 0, {
          ...systemCommandContext("test"),
          workspaceId,
        }),
      );
      ids.push(...(await Promise.all(some)).map(({ templateId }) => templateId));
    }
    const tryCreate = () => full.call("POST", PATH, { body: { name: "One more" } });
    const answers = await Promise.all(Array.from({ length: 6 }, tryCreate));
    expect(answers.map(codeOf).toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => "201 undefined"),
      ...Array.from({ length: 4 }, () => "409 TEMPLATE_LIMIT_REACHED"),
    ]);
    expect((await remove(ids[0] as string, full)).status).toBe(204);
    expect([codeOf(await tryCreate()), codeOf(await tryCreate())]).toEqual([
      "201 undefined",
      "409 TEMPLATE_LIMIT_REACHED",
    ]);
  });

  atLimit("takes all of its changes with it, of which there is a stated number", async () => {
    const { id, version } = await published();
    const other = await draft(id);
    const changes = Array.from({ length: CHANGES_MAX - 3 }, (_, index): TemplateEvent => {
      const data = { versionId: index % 2 === 0 ? other : version, at: rfc3339(Date.now()) };
      return { type: "TemplateVersionPublished", data };
    });
    const aggregate = templateAggregate.of(id);
    for (let from = 0; from < changes.length; from += 1_000) {
      const events = changes.slice(from, from + 1_000);
      await transact(
        service.log.store,
        aggregate,
        () => ({ outcome: null, events }),
        systemCommandContext("test"),
      );
    }
    const codes = [codeOf(await publish(id, version)), codeOf(await publish(id, other))];
    expect(codes.toSorted()).toEqual(["200 undefined", "409 TEMPLATE_LIMIT_REACHED"]);
    const refused = await tenant.call("POST", `${PATH}/${id}/versions`, { body: SOURCE });
    expect(codeOf(refused)).toBe("409 TEMPLATE_LIMIT_REACHED");
    expect(refused.json.detail).toStartWith("the template has had 10,000 changes");
    const renamed = await tenant.call("PATCH", `${PATH}/${id}`, { body: { name: "Another" } });
    expect(codeOf(renamed)).toBe("409 TEMPLATE_LIMIT_REACHED");
    expect((await remove(id)).status).toBe(204);
    expect((await readLog(id)).map(({ type }) => type)).toEqual(["TemplateDeleted"]);
  });
});
