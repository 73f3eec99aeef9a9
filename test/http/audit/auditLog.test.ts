import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limitWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { sharedService } from "../../support/sharedService.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant, type TestService } from "../../support/tenants.ts";

const PATH = "/api/v1/audit-log";

// biome-ignore lint/suspicious/noExplicitAny: answers are checked against the document.
type Entry = any;

describe.each(await testStores())("the audit log on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService(store);
  });
  afterAll(() => service.remove());

  const list = async (tenant: Tenant, query = ""): Promise<readonly Entry[]> => {
    const answer = await tenant.call("GET", PATH + query);
    expect(answer.status).toBe(200);
    return answer.json.data;
  };
  const perform = async (tenant: Tenant, method: string, path: string, body?: unknown) => {
    const answer = await tenant.call(method, path, body === undefined ? {} : { body });
    expect(answer.status).toBeLessThan(300);
    return answer;
  };

  test("shows who did what to what, when, and by which request", async () => {
    const tenant = await service.tenant();
    const { json: key, headers } = await perform(tenant, "POST", "/api/v1/api-keys", {
      name: "shop",
      scopes: ["email:send"],
    });
    await perform(tenant, "POST", `/api/v1/api-keys/${key.id}/revoke`);
    const [revoked, issued] = await list(tenant, "?limit=2");
    expect(issued).toEqual({
      id: expect.any(String),
      object: "audit_entry",
      action: "api_key.issued",
      actor: { type: "api_key", id: tenant.keyId, name: expect.any(String), person: null },
      target: { type: "api_key", id: key.id, label: "shop" },
      request_id: headers.get("x-request-id"),
      details: { scopes: ["email:send"], expires_at: null },
      created_at: key.created_at,
    });
    expect(revoked).toMatchObject({ action: "api_key.revoked", target: { id: key.id, label: "shop" } });
  });

  test("has everything that can be done to what a workspace is made of", async () => {
    const tenant = await service.tenant({ sender: null });
    const { json: sender } = await perform(tenant, "POST", "/api/v1/senders", {
      address: "Shop@example.com",
    });
    await perform(tenant, "POST", `/api/v1/senders/${sender.id}/disable`);
    await perform(tenant, "POST", `/api/v1/senders/${sender.id}/enable`);
    const { json: template } = await perform(tenant, "POST", "/api/v1/templates", { name: "Welcome" });
    await perform(tenant, "PATCH", `/api/v1/templates/${template.id}`, { name: "Hello" });
    const versions = `/api/v1/templates/${template.id}/versions`;
    const { json: version } = await perform(tenant, "POST", versions, { subject: "Hi", text: "Hi" });
    await perform(tenant, "POST", `${versions}/${version.id}/publish`);
    await perform(tenant, "POST", `/api/v1/templates/${template.id}/archive`);
    const url = "https://hooks.example.com/secret";
    const { json: endpoint } = await perform(tenant, "POST", "/webhooks", { url });
    await perform(tenant, "PATCH", `/webhooks/${endpoint.id}`, { description: "ours" });
    await perform(tenant, "DELETE", `/webhooks/${endpoint.id}`);
    await perform(tenant, "POST", "/api/v1/suppressions", { address: "ana@example.com" });
    await perform(tenant, "DELETE", "/api/v1/suppressions/ana@example.com");
    await perform(tenant, "POST", "/api/v1/workspace/pause");
    await perform(tenant, "POST", "/api/v1/workspace/resume");
    await perform(tenant, "POST", "/api/v1/erasures", { address: "ana@example.com" });
    const all = (await list(tenant, "?limit=100")).toReversed();
    const actions = all.map(({ action }) => action).filter((action) => action !== "erasure.completed");
    expect(actions).toEqual([
      "workspace.created",
      "api_key.issued",
      "sender.added",
      "sender.disabled",
      "sender.enabled",
      "template.created",
      "template.renamed",
      "template.version_drafted",
      "template.version_published",
      "template.archived",
      "webhook_endpoint.registered",
      "webhook_endpoint.updated",
      "webhook_endpoint.deleted",
      "suppression.added",
      "suppression.removed",
      "sending.paused",
      "sending.resumed",
      "erasure.requested",
    ]);
    expect(all.find(({ action }) => action === "sender.disabled").target.label).toBe("Shop@example.com");
    const labels = all.filter(({ target }) => target.type === "template").map(({ target }) => target.label);
    expect(labels).toEqual(["Welcome", "Hello", "Hello", "Hello", "Hello"]);
    expect(JSON.stringify(all)).not.toContain("ana@example.com");
    expect(JSON.stringify(all)).not.toContain("secret");
  });

  test("lists messages and uploads only for requested erasures", async () => {
    const tenant = await service.tenant();
    await service.pause(tenant.workspaceId);
    await service.resume(tenant.workspaceId);
    const sent = await tenant.send(newKey(), message());
    await tenant.call("DELETE", `/api/v1/emails/${sent.json.id}/content`);
    const entriesOfMessage = await list(tenant, `?target_id=${sent.json.id}`);
    expect(entriesOfMessage.map(({ target }) => target.type)).toEqual(entriesOfMessage.map(() => "email"));
    expect(entriesOfMessage.map(({ action }) => action).join()).toMatch(
      /email\.(content_erased|erasure_requested)/,
    );
  });

  test("is filtered, and paged", async () => {
    const tenant = await service.tenant({ sender: null });
    for (let nth = 0; nth < 3; nth += 1) {
      await perform(tenant, "POST", "/api/v1/workspace/pause");
      await perform(tenant, "POST", "/api/v1/workspace/resume");
    }
    const paused = await list(tenant, `?action=sending.paused&actor=${tenant.keyId}`);
    expect(paused).toHaveLength(3);
    expect(await list(tenant, "?actor=command_line&action=sending.paused")).toEqual([]);
    expect(await list(tenant, "?target_type=api_key")).toHaveLength(1);
    expect(await list(tenant, `?created_before=${encodeURIComponent("2020-01-01T00:00:00Z")}`)).toEqual([]);
    const all = await list(tenant);
    const paged: Entry[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Entry = (await tenant.call("GET", `${PATH}?limit=3${cursor && `&cursor=${cursor}`}`)).json;
      paged.push(...page.data);
      cursor = page.next_cursor;
    }
    expect(paged).toEqual([...all]);
    for (const query of [
      "?limit=0",
      "?target_type=dog",
      "?action=no.such",
      "?action=backup.created",
      "?created_from=yesterday",
      "?cursor=x",
      "?other=1",
    ]) {
      const answer = await tenant.call("GET", PATH + query);
      expect([answer.status, answer.json.code]).toEqual([400, "INVALID_REQUEST"]);
    }
  });

  test("refuses an actor that cannot have done anything", async () => {
    const tenant = await service.tenant();
    const answer = await tenant.call("GET", `${PATH}?actor=nobody`);
    expect([answer.status, answer.json.code]).toEqual([400, "INVALID_REQUEST"]);
    expect(answer.json.errors).toEqual([
      {
        pointer: "/actor",
        message: "must be the id of an API key, or one of command_line, verification_link, system",
      },
    ]);
    expect(await list(tenant, `?actor=${"x".repeat(12)}`)).toEqual([]);
  });

  test("is of the key's workspace alone, for keys with workspace:manage", async () => {
    const [one, other] = [await service.tenant(), await service.tenant()];
    const ids = new Set((await list(one)).map(({ id }) => id));
    expect((await list(other)).some(({ id }) => ids.has(id))).toBe(false);
    const reader = await one.withKey({ scopes: ["email:read"] });
    expect((await reader.call("GET", PATH)).status).toBe(403);
  });

  test("is on the command line, of a workspace and of the installation", async () => {
    const tenant = await service.tenant();
    const limits = { messagesPerDay: 7 };
    const at = { at: Date.now(), correlationId: "by-hand", actor: "cli" };
    await limitWorkspace(service.log, tenant.workspaceId, limits, at);
    const command = (...words: readonly string[]) =>
      runCommand(["audit", "log", ...words], service.app.dataDir, store.env);
    const workspaceEntries = await command("--workspace", tenant.workspaceId, "--json");
    expect(workspaceEntries.json[0]).toMatchObject({
      action: "limits.changed",
      actor: { type: "command_line" },
      target: { type: "workspace", id: tenant.workspaceId },
      request_id: "by-hand",
      details: { messages_per_day: 7 },
    });
    expect(workspaceEntries.json).toEqual(await list(tenant));
    const added = workspaceEntries.json.find(({ action }: Entry) => action === "sender.added");
    expect(added.target.label).toBe("sender@example.com");
    const byCommandLine = await command(
      "--workspace",
      tenant.workspaceId,
      "--actor",
      "command_line",
      "--json",
    );
    expect(byCommandLine.json.map(({ request_id }: Entry) => request_id)).toEqual(["by-hand"]);
    const installation = await command("--since", "1h");
    expect(installation.out).toContain("instance.created");
    expect(installation.out).not.toContain("limits.changed");
    expect(installation.err).toMatch(
      /^not shown: [\d,]+ entries of [\d,]+ workspaces, see `.*audit log --workspace <id>`\n$/,
    );
    const both = await command("--json");
    expect([both.exitCode, both.err]).toEqual([0, ""]);
    const ofKey = await command("--actor", tenant.keyId);
    expect(ofKey.err).toBe("");
    expect((await command("--action", "log.sealed")).out).toBe(
      "no entries about the whole installation: --workspace <id> shows those of a workspace\n",
    );
    const unknownWorkspace = await runCommand(
      ["audit", "log", "--workspace", "nobody"],
      service.app.dataDir,
      store.env,
    );
    expect([
      unknownWorkspace.exitCode,
      unknownWorkspace.err.includes("there is no workspace nobody"),
    ]).toEqual([1, true]);
    const invalidTime = await runCommand(["audit", "log", "--since", "soon"], service.app.dataDir, store.env);
    expect([invalidTime.exitCode, invalidTime.err.includes("--since")]).toEqual([2, true]);
  });
});
