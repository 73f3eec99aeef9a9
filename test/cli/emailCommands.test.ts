import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandCallResult } from "../support/process/commandProcess.ts";
import { runCalls } from "../support/process/runCalls.ts";
import { testStores } from "../support/stores/stores.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { message, newKey, startService, type TestService } from "../support/tenants.ts";

const TEST_MS_MAX = 120_000;
const PRIVATE = /ana@|sender@|Hello|private words/;

describe.each(await testStores())("email show on $name", (store) => {
  let service: TestService;
  let workspaceId: string;
  let id: string;
  let keyId: string;
  let calls: Readonly<
    Record<"lines" | "json" | "content" | "erased" | "unknown" | "waiting", CommandCallResult>
  >;

  beforeAll(async () => {
    service = await startService(store);
    const tenant = await service.tenant();
    workspaceId = tenant.workspaceId;
    keyId = tenant.apiKey.slice(3, 15);
    const accept = async () => (await tenant.send(newKey(), message())).json.id as string;
    id = await accept();
    const erasedId = await accept();
    const waitingId = await accept();
    await service.addEmailEvents(
      id,
      { type: "EmailDeliveryStarted", data: { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" } },
      {
        type: "EmailBounced",
        data: { attempt: 1, reason: "mailbox_full", code: 552, reply: "552 5.2.2 private words" },
      },
    );
    await tenant.call("DELETE", `/api/v1/emails/${erasedId}/content`);
    const call = (...words: readonly string[]) => ({
      words: ["email", "show", ...words],
      env: { ...store.env, DATA_DIR: service.app.dataDir, DISK_FREE_BYTES_MIN: "0" },
    });
    const named = {
      lines: call(id),
      json: call(`<${id.toUpperCase()}@example.com>`, "--json"),
      content: call(id, "--json", "--content"),
      erased: call(erasedId, "--json", "--content"),
      unknown: call(crypto.randomUUID()),
      waiting: call(waitingId),
    };
    const results = await runCalls(Object.values(named));
    calls = Object.fromEntries(Object.keys(named).map((name, nth) => [name, results[nth]])) as typeof calls;
  }, TEST_MS_MAX);
  afterAll(() => service.remove());

  test("prints status, reason, attempts and timeline, and nothing private", () => {
    const { status, out, err } = calls.lines;
    expect({ status, err }).toEqual({ status: 0, err: "" });
    expect(out).toStartWith(`${id}  workspace ${workspaceId}\nstatus  bounced\nreason  mailbox_full\n`);
    expect(out).toContain("\nattempts  1\n");
    expect(out).toContain(`\napi_key_id  ${keyId}\n`);
    expect(out).toMatch(/\napi_key_name {2}\S/);
    expect(out).toMatch(
      /Z {2}queued {2}api_key_id .*\n.*Z {2}delivery_started {2}attempt 1 .*\n.*Z {2}bounced {2}attempt 1 {2}reason/,
    );
    expect(out).toContain("reply 552 5.2.2\n");
    expect(out).not.toMatch(PRIVATE);
  });

  test("gives a program the same, under the names of the API", () => {
    const shown = JSON.parse(calls.json.out);
    const types = shown.timeline.map(({ type }: { readonly type: string }) => type);
    expect(types).toEqual(["content_stored", "queued", "delivery_started", "bounced"]);
    const facts = { id, workspace_id: workspaceId, test: false, status: "bounced", reason: "mailbox_full" };
    expect(shown).toMatchObject({ ...facts, attempts: 1, content_erased: false });
    expect(calls.json.out).not.toMatch(PRIVATE);
  });

  test("shows addresses, content and the relay's words when asked", () => {
    const shown = JSON.parse(calls.content.out);
    expect(shown).toMatchObject({ id, to: "ana@example.com", subject: "Hello" });
    expect(shown.timeline.at(-1).reply).toBe("552 5.2.2 private words");
  });

  test("shows that the content was erased", () => {
    expect(JSON.parse(calls.erased.out)).toMatchObject({
      status: "canceled",
      content_erased: true,
      to: null,
    });
  });

  test(
    "beside a content store that is away shows what is in the log, and needs no other where it asks for nothing",
    async () => {
      const tenant = await service.tenant();
      const large = message({ html: "a".repeat(500_000), text: "b".repeat(100_000) });
      const { json: accepted } = await tenant.send(newKey(), large);
      const beside = (content: string, ...words: readonly string[]) => {
        const settings = { DATA_DIR: service.app.dataDir, DISK_FREE_BYTES_MIN: "0", CONTENT_URL: content };
        return { words, env: { ...store.env, ...settings } };
      };
      const another = temporaryFolder();
      await writeFile(join(another, "identity"), crypto.randomUUID());
      const away = `file:${join(another, "not-mounted")}`;
      const ends = await runCalls([
        beside(away, "email", "show", accepted.id, "--json", "--content"),
        beside(away, "email", "show", id, "--content"),
        beside(away, "projection", "list"),
        beside(away, "workspace", "pause", tenant.workspaceId),
        beside(`file:${another}`, "email", "show", id),
      ]);
      expect(ends.map(({ status, err }) => [status, err])).toEqual([
        [1, ""],
        [0, ""],
        [0, ""],
        [0, ""],
        [2, expect.stringContaining("not the one that this log was begun with")],
      ]);
      expect(JSON.parse(ends[0]?.out ?? "")).toMatchObject({
        id: accepted.id,
        status: "queued",
        content_erased: false,
        to: null,
        content_fault: expect.stringContaining("cannot be read now: the content store is not in its place"),
      });
      expect(ends[1]?.out).toContain("\nsubject  Hello\n");
    },
    TEST_MS_MAX,
  );

  test("says why a message waits, as the running service sees it", () => {
    expect(calls.waiting.out).toContain(
      "\nwaiting  delivery_off: The instance that was asked delivers no mail.\n",
    );
    expect(calls.lines.out).not.toContain("\nwaiting ");
  });

  test("says that there is no such message", () => {
    expect(calls.unknown).toMatchObject({ status: 1, out: "" });
    expect(calls.unknown.err).toContain("there is no message ");
  });
});

describe.each(await testStores())("email try-now on $name", (store) => {
  test(
    "makes due what waits for a time, leaves alone what does not, and refuses what has ended",
    async () => {
      const service = await startService(store);
      try {
        const tenant = await service.tenant();
        const inADay = new Date(Date.now() + 86_400_000).toISOString();
        const accept = async (body: Record<string, unknown> = {}) =>
          (await tenant.send(newKey(), message(body))).json.id as string;
        const [deferred, scheduled, queued, sent] = [
          await accept(),
          await accept({ scheduled_at: inADay }),
          await accept(),
          await accept(),
        ];
        const started = { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" };
        const wait = { attempt: 1, reason: "connection_lost", attemptBurnt: true, ambiguous: true };
        await service.addEmailEvents(
          deferred,
          { type: "EmailDeliveryStarted", data: started },
          { type: "EmailDeferred", data: { ...wait, nextAttemptAt: inADay } },
        );
        await service.addEmailEvents(
          sent,
          { type: "EmailDeliveryStarted", data: started },
          { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } },
        );
        const call = (...words: readonly string[]) => ({
          words: ["email", "try-now", ...words],
          env: { ...store.env, DATA_DIR: service.app.dataDir, DISK_FREE_BYTES_MIN: "0" },
        });
        const ends = await runCalls([
          call(deferred),
          call(scheduled.toUpperCase(), "--json"),
          call(queued),
          call(sent),
          call(crypto.randomUUID()),
        ]);
        expect(ends.map(({ status }) => status)).toEqual([0, 0, 0, 1, 1]);
        const [first, second, third, fourth] = ends;
        expect(first?.out).toBe(`${deferred} is due now\nthe relay may have it: it may be delivered twice\n`);
        expect(JSON.parse(second?.out ?? "")).toEqual({
          id: scheduled,
          workspace_id: tenant.workspaceId,
          status: "scheduled",
          brought_forward: true,
          may_repeat: false,
        });
        expect(third?.out).toBe(`${queued} is queued and due already: nothing was changed\n`);
        expect(fourth?.err).toContain(`message ${sent} can no longer be tried: it is sent`);
        const get = async (id: string) => (await tenant.call("GET", `/api/v1/emails/${id}`)).json;
        for (const time of [(await get(deferred)).next_attempt_at, (await get(scheduled)).scheduled_at])
          expect(Date.parse(time)).toBeLessThanOrEqual(Date.now());
      } finally {
        await service.remove();
      }
    },
    TEST_MS_MAX,
  );
});
