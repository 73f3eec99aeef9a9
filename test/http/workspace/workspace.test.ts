import { describe, expect, test } from "bun:test";
import { logIn } from "../../support/dashboard.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { lastAcceptedMs } from "../../support/lastAcceptedMs.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import type { Answer, Caller } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { serviceWithRelay } from "../../support/serviceWithRelay.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/workspace";
const COMMAND_MS_MAX = 120_000;
const DELIVERY_MS_MAX = 120_000;

async function callOk(caller: Caller, method: string, path: string): Promise<Answer["json"]> {
  const answer = await caller.call(method, path);
  expect(answer.status).toBe(200);
  return answer.json;
}
const get = (caller: Caller) => callOk(caller, "GET", PATH);
const pause = (caller: Caller) => callOk(caller, "POST", `${PATH}/pause`);
const resume = (caller: Caller) => callOk(caller, "POST", `${PATH}/resume`);

describe.each(await testStores())("the workspace on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {
    LIMIT_MESSAGES_PER_DAY: "5000",
    LIMIT_STORAGE_BYTES: "6000",
  });

  /** Runs a command on the service's log, beside the service. */
  const command = async (...words: string[]) => {
    const { exitCode: status, out, err } = await runCommand(words, service.app.dataDir, store.env);
    return { status, out, trouble: err.split("\n", 1)[0] ?? "" };
  };

  describe("is read", () => {
    test("with its state, its limits and what is used", async () => {
      const own = await service.tenant();
      const before = Date.now();
      expect(await get(own)).toEqual({
        id: own.workspaceId,
        object: "workspace",
        name: "test",
        sending: "active",
        paused_at: null,
        pause_reason: null,
        limits: {
          messages_per_day: 5_000,
          storage_bytes: 6_000,
          content_bytes: 50_000_000_000,
          // The tests' services have none: 0 in the environment.
          key_requests_per_second: null,
          workspace_requests_per_second: null,
          attachment_retention_hours: 24,
          content_retention_days: 30,
          archive_attachments: false,
        },
        usage: {
          messages_today: 0,
          storage_bytes: 0,
          content_bytes: 0,
          test_storage_bytes: 0,
          test_content_bytes: 0,
        },
        created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
      });
      expect(Date.parse((await get(own)).created_at)).toBeLessThanOrEqual(before);
    });

    test("with the day's messages as the daily limit counts them: each once, and none that is simulated", async () => {
      const own = await service.tenant();
      const key = newKey();
      const startedOn = new Date().toISOString().slice(0, 10);
      for (const one of [key, key, newKey()]) await own.send(one, message());
      await own.call("POST", "/api/v1/suppressions", { body: { address: "gone@example.com" } });
      await own.send(newKey(), message({ to: "gone@example.com" }));
      await own.send(newKey(), message({ from: "unknown@example.com" }));
      await own.send(newKey(), message({ to: "delivered@simulator.test" }));
      const { usage } = await get(own);
      // Whoever works at midnight sees both days.
      if (startedOn === new Date().toISOString().slice(0, 10)) expect(usage.messages_today).toBe(3);
    });

    test("by its own keys only: there is no way to name another", async () => {
      expectProblem(await tenant.call("GET", `${PATH}?id=${tenant.workspaceId}`), 400, "INVALID_REQUEST");
      expectProblem(await tenant.call("GET", `${PATH}/${tenant.workspaceId}`), 404, "NOT_FOUND");
    });

    test("and its limits cannot be changed by it", async () => {
      const body = { limits: { messages_per_day: 1 } };
      for (const method of ["POST", "PATCH", "PUT"])
        expectProblem(await tenant.call(method, PATH, { body }), 405, "METHOD_NOT_ALLOWED");
    });
  });

  test(
    "is renamed on the command line, which shows everywhere",
    async () => {
      const own = await service.tenant();
      const { workspaceId } = own;
      const visitor = await logIn(service.url, own.apiKey);
      const rename = (id: string, name: string) => command("workspace", "rename", id, name);
      expect(await rename(workspaceId, "Acme & Co")).toMatchObject({
        status: 0,
        out: `${workspaceId} renamed\n`,
      });
      expect(await get(own)).toMatchObject({ id: workspaceId, name: "Acme & Co" });
      await until(
        async () => (await visitor.get("/workspace")).html.includes("Acme &amp; Co"),
        "the new name",
      );
      expect((await command("workspace", "list")).out).toContain(`${workspaceId}  active  Acme & Co\n`);
      const { json } = await own.call("GET", "/api/v1/audit-log?action=workspace.renamed");
      expect(json.data).toMatchObject([
        {
          actor: { type: "command_line" },
          target: { type: "workspace", id: workspaceId, label: "Acme & Co" },
          details: { previous_label: "test" },
        },
      ]);

      expect((await rename(workspaceId.toUpperCase(), " Acme")).trouble).toContain(
        "must not begin or end with a space",
      );
      expect(await rename(workspaceId.toUpperCase(), "Acme")).toMatchObject({
        status: 0,
        out: `${workspaceId} renamed\n`,
      });
      const invisible = await rename(workspaceId, "Acme\u202e");
      expect(invisible).toMatchObject({
        status: 2,
        trouble: expect.stringContaining("the name must have visible characters"),
      });
      const unknown = crypto.randomUUID();
      const missing = { status: 1, trouble: expect.stringContaining(`there is no workspace ${unknown}`) };
      expect(await rename(unknown, "Acme")).toMatchObject(missing);
    },
    COMMAND_MS_MAX,
  );

  describe("paused", () => {
    test("says so from when, and a repeat changes nothing", async () => {
      const own = await service.tenant();
      const before = Date.now();
      const paused = await pause(own);
      expect(paused.sending).toBe("paused");
      expect(Date.parse(paused.paused_at)).toBeWithin(before, Date.now() + 1);
      expect(await pause(own)).toEqual(paused);
      expect(await get(own)).toEqual(paused);
      const resumed = await resume(own);
      expect(resumed).toEqual({ ...paused, sending: "active", paused_at: null });
      expect(await resume(own)).toEqual(resumed);
      expect(await get(own)).toEqual(resumed);
    });

    test("refuses new sends at once, and takes them again at once when resumed", async () => {
      const own = await service.tenant();
      for (let round = 0; round < 5; round += 1) {
        expect((await own.send(newKey(), message())).status).toBe(202);
        await pause(own);
        expectProblem(await own.send(newKey(), message()), 403, "SENDING_PAUSED");
        await resume(own);
      }
      expect((await own.send(newKey(), message())).status).toBe(202);
    });

    test("while others send fails none of them", async () => {
      const own = await service.tenant();
      const answers: Answer[] = [];
      let isDone = false;
      const sender = async () => {
        while (!isDone) answers.push(await own.send(newKey(), message()));
      };
      const senders = Array.from({ length: 8 }, sender);
      for (let round = 0; round < 20; round += 1) {
        await pause(own);
        await resume(own);
      }
      isDone = true;
      await Promise.all(senders);
      expect(answers.filter(({ status }) => status !== 202 && status !== 403)).toEqual([]);
      for (const answer of answers.filter(({ status }) => status === 403))
        expectProblem(answer, 403, "SENDING_PAUSED");
    });

    test("answers a retry of what was accepted before as it did then", async () => {
      const own = await service.tenant();
      await own.call("POST", "/api/v1/suppressions", { body: { address: "gone@example.com" } });
      const sends = [
        [newKey(), message()],
        [newKey(), message({ to: "gone@example.com" })],
      ] as const;
      const first = await Promise.all(sends.map(([key, body]) => own.send(key, body)));
      expect(first.map(({ json }) => json.status)).toEqual(["queued", "suppressed"]);
      await pause(own);
      await own.call("DELETE", "/api/v1/suppressions/gone%40example.com");
      for (const [index, [key, body]] of sends.entries()) {
        const repeat = await own.send(key, body);
        expect(repeat.status).toBe(202);
        expect(repeat.text).toBe(first[index]?.text as string);
        expect(repeat.headers.get("idempotent-replayed")).toBe("true");
        expectProblem(await own.send(key, { ...body, subject: "Changed" }), 409, "IDEMPOTENCY_CONFLICT");
      }
    });

    test("is paused for all of its keys, and for no other workspace", async () => {
      const own = await service.tenant();
      await pause(own);
      const other = await own.withKey({ scopes: ["email:send"] });
      expectProblem(await other.send(newKey(), message()), 403, "SENDING_PAUSED");
      expect((await tenant.send(newKey(), message())).status).toBe(202);
    });

    test("by another hold on the log shows within a second", async () => {
      const own = await service.tenant();
      expect((await own.send(newKey(), message())).status).toBe(202);
      await service.pause(own.workspaceId);
      const isAccepted = async () => (await own.send(newKey(), message())).status !== 403;
      expect(await lastAcceptedMs(isAccepted, "the pause to show")).toBeLessThan(1_000);
    });
  });

  describe("on the command line", () => {
    test(
      "gets limits of its own, which show at once in its answers",
      async () => {
        const own = await service.tenant();
        const set = await command(
          ...["workspace", "limits", own.workspaceId, "--messages-per-day", "7", "--json"],
          ...["--key-requests-per-second", "12", "--archive-attachments", "on"],
        );
        expect({ status: set.status, trouble: set.trouble }).toEqual({ status: 0, trouble: "" });
        expect(JSON.parse(set.out)).toMatchObject({
          id: own.workspaceId,
          messages_per_day: 7,
          key_requests_per_second: 12,
          archive_attachments: true,
        });
        expect((await get(own)).limits).toMatchObject({
          messages_per_day: 7,
          storage_bytes: 6_000,
          key_requests_per_second: 12,
          workspace_requests_per_second: null,
          archive_attachments: true,
        });
        const back = await command("workspace", "limits", own.workspaceId, "--messages-per-day", "default");
        expect(back.out).toMatch(/^messages-per-day {2}\d+ {2}\(default of this environment\)$/m);
        expect(back.out).toContain("key-requests-per-second  12");
        expect((await get(own)).limits).toMatchObject({
          messages_per_day: 5_000,
          key_requests_per_second: 12,
        });
      },
      COMMAND_MS_MAX,
    );

    test.each([
      [["limits", crypto.randomUUID(), "--messages-per-day", "5"], 1, "there is no workspace"],
      [["limits", "any", "--messages-per-day", "-1"], 2, "takes default or a whole number from 0 to"],
      [["limits", "any", "--messages-per-day", "1.5"], 2, "takes default or a whole number from 0 to"],
      [["limits", "any", "--messages-per-day", "1e3"], 2, "takes default or a whole number from 0 to"],
      [["limits", "any", "--attachment-retention-hours", "0"], 2, "a whole number from 1 to 8760"],
      [["limits", "any", "--key-requests-per-second", "1000001"], 2, "a whole number from 0 to 1000000"],
      [["limits", "any", "--archive-attachments", "yes"], 2, "takes on, off or default"],
      [["pause"], 1, "name one of the workspaces"],
      [["pause", crypto.randomUUID()], 1, "there is no workspace"],
      [["resume", crypto.randomUUID()], 1, "there is no workspace"],
    ] as const)(
      "refuses workspace %p",
      async (words, status, expectedError) => {
        const refused = await command("workspace", ...words);
        expect(refused.status).toBe(status);
        expect(refused.trouble).toContain(expectedError);
      },
      COMMAND_MS_MAX,
    );

    test(
      "is paused, listed and resumed",
      async () => {
        const own = await service.tenant();
        const listed = async () => (await command("workspace", "list")).out;
        expect((await command("workspace", "pause", own.workspaceId)).status).toBe(0);
        await until(
          async () => (await own.send(newKey(), message())).status === 403,
          "the pause to take effect",
        );
        expect((await get(own)).sending).toBe("paused");
        expect(await listed()).toContain(`${own.workspaceId}  paused  test\n`);
        const resumed = await command("workspace", "resume", own.workspaceId, "--json");
        expect(JSON.parse(resumed.out)).toEqual({ id: own.workspaceId, outcome: "resumed" });
        await until(async () => (await own.send(newKey(), message())).status === 202, "sending to resume");
        expect(await listed()).toContain(`${own.workspaceId}  active  test\n`);
      },
      COMMAND_MS_MAX,
    );
  });
});

describe.each(await testStores())("queued mail of a paused workspace on $name", (store) => {
  let reply: { readonly code: number; readonly text: string } | undefined;
  const fixture = serviceWithRelay(store, {
    relay: { rcpt: () => reply },
    env: { DELIVERY_RETRY_BASE_MS: "100", DELIVERY_RETRY_MAX_MS: "100" },
  });

  test(
    "waits while others' goes out, and goes when sending is resumed",
    async () => {
      const statusOf = async (caller: Tenant, id: string) =>
        (await caller.call("GET", `/api/v1/emails/${id}`)).json.status;
      const [held, free] = [await fixture.service.tenant(), await fixture.service.tenant()];
      reply = { code: 450, text: "4.2.1 later" };
      const { json: waiting } = await held.send(newKey(), message({ to: "held@example.com" }));
      await until(async () => (await statusOf(held, waiting.id)) === "deferred", "the message to be held");
      await pause(held);
      // An attempt that had begun before may go on: the relay still refuses it.
      await until(
        async () => (await statusOf(held, waiting.id)) === "deferred",
        "no attempt to be in flight",
      );
      reply = undefined;
      // Accepted after it and delivered since: the relay takes mail, and the message's time has come.
      for (let round = 0; round < 5; round += 1) {
        const { json: other } = await free.send(newKey(), message({ to: "free@example.com" }));
        await until(async () => (await statusOf(free, other.id)) === "sent", "the other workspace's message");
      }
      const { json: email } = await held.call("GET", `/api/v1/emails/${waiting.id}`);
      expect(email.status).not.toBe("sent");
      expect(fixture.sink.record.messages.flatMap(({ to }) => to)).not.toContain("held@example.com");
      await resume(held);
      await until(async () => (await statusOf(held, waiting.id)) === "sent", "the held message to be sent");
      expect(fixture.sink.record.messages.flatMap(({ to }) => to)).toContain("held@example.com");
    },
    DELIVERY_MS_MAX,
  );
});
