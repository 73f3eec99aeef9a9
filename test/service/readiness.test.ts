import { expect, test } from "bun:test";
import type { InstanceState } from "../../src/domain/instance/state.ts";
import type { ReadModelBuild } from "../../src/http/dashboard/frame/dashboardOptions.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { heldDetail, readinessOf } from "../../src/service/status/readiness.ts";

function readinessParts() {
  return {
    config: readConfig({ DATA_DIR: "/nowhere" }),
    deps: {
      store: { head: async () => 1n },
      disk: { freeBytes: () => 1e12 },
      clock: { monotonicMs: () => 0 },
      instanceStatus: { get: async () => ({ instance: null }) },
    },
    damage: { reason: null },
    readers: { status: () => [] as unknown[] },
    delivery: { relayFault: null },
    contentHealth: { reads: { trouble: null }, writes: { trouble: null } },
    freezeWatch: { isKnownFrozen: async () => false },
    readModelBuild: async () => null as ReadModelBuild | null,
  };
}

function readinessWith(changed: object) {
  const parts = { ...readinessParts(), ...changed };
  return readinessOf(parts as unknown as Parameters<typeof readinessOf>[0]);
}

test("no answer shows at which message a read model stopped", async () => {
  const id = crypto.randomUUID();
  const failure = `stopped at EmailQueued, stream email-${id}, revision 1`;
  const status = () => [{ name: "emails", state: "failed", isCaughtUp: true, failure }];
  const { read_models: readModels } = await readinessWith({ readers: { status } })();
  expect(readModels).toMatchObject({
    ok: false,
    detail: "emails: stopped at EmailQueued, stream email-…, revision 1",
  });
});

const lagging = { name: "emails", state: "behind", isCaughtUp: false, failure: null };
const level = { ...lagging, state: "live", isCaughtUp: true };

test("read models that are being built make the service unready from the first moment", async () => {
  const build = { done: 0.427, lagMs: 60_000 };
  const readiness = readinessWith({
    readers: { status: () => [level, lagging] },
    readModelBuild: async () => build,
  });
  const { read_models: readModels } = await readiness();
  expect(readModels).toMatchObject({ ok: false, detail: "being built: 42% of the log is read" });
});

test("read models that were not opened yet make the service unready, however new the log is", async () => {
  const absent = { ...lagging, state: "absent" };
  const { read_models: readModels } = await readinessWith({ readers: { status: () => [level, absent] } })();
  expect(readModels).toMatchObject({ ok: false, detail: "emails: not opened yet" });
});

test("what a read model lacks for some seconds makes a service that was ready not unready", async () => {
  let model = level;
  let build: ReadModelBuild | null = null;
  const readiness = readinessWith({
    readers: { status: () => [model] },
    readModelBuild: async () => build,
  });
  const readModelsCheck = async () => (await readiness()).read_models;
  expect(await readModelsCheck()).toMatchObject({ ok: true, detail: "caught up" });
  model = lagging;
  expect(await readModelsCheck()).toMatchObject({ ok: true, detail: "caught up" });
  build = { done: 0.99, lagMs: 7_000 };
  expect(await readModelsCheck()).toMatchObject({ ok: true, detail: "being built: 99% of the log is read" });
  build = { done: 0.98, lagMs: 11_000 };
  expect(await readModelsCheck()).toMatchObject({ ok: false, detail: "being built: 98% of the log is read" });
});

test("many who ask at once whether the service is ready ask the store once", async () => {
  let reads = 0;
  const answer = Promise.withResolvers<void>();
  const store = {
    head() {
      reads += 1;
      return answer.promise;
    },
  };
  const readiness = readinessWith({
    deps: {
      store,
      disk: { freeBytes: () => 1e12 },
      clock: { monotonicMs: () => 0 },
      instanceStatus: { get: async () => ({ instance: null }) },
    },
  });
  const answers = Array.from({ length: 100 }, () => readiness());
  answer.resolve();
  for (const checks of await Promise.all(answers)) expect(checks.store?.ok).toBe(true);
  expect(reads).toBe(1);
  await readiness();
  expect(reads).toBe(2);
});

test("a service that others reach is unready until it has a workspace, and a trial or a store that is away says nothing", async () => {
  const parts = readinessParts();
  const workspacesCheck = async (env: object, events: readonly object[] | Error) => {
    const store = {
      ...parts.deps.store,
      async *readAll() {
        if (events instanceof Error) throw events;
        yield { events };
      },
    };
    const config = readConfig({ SMTP_URL: "outbox:", ...env });
    return (await readinessWith({ config, deps: { ...parts.deps, store } })()).workspaces;
  };
  const open = { BASE_URL: "https://mail.example.com" };
  expect(await workspacesCheck(open, [])).toEqual({
    ok: false,
    required: true,
    detail: "there is no workspace",
  });
  expect(await workspacesCheck(open, [{}])).toBeUndefined();
  expect(await workspacesCheck(open, new Error("away"))).toBeUndefined();
  expect(await workspacesCheck({}, [])).toBeUndefined();
});

test.each([
  ["gives out", ["reads"], "not answering: messages with files or long content wait"],
  ["takes", ["writes"], "taking nothing: uploads, and sends with files or long content, get 503"],
  [
    "gives out or takes",
    ["reads", "writes"],
    "not answering: messages with files or long content wait; taking nothing: uploads, and sends with files or long content, get 503",
  ],
])("a content store that %s no files is shown, and leaves the service ready", async (_, sides, detail) => {
  const trouble = { reason: "the S3 server answered 403 AccessDenied" };
  const sideOf = (side: string) => ({ trouble: sides.includes(side) ? trouble : null });
  const contentHealth = { reads: sideOf("reads"), writes: sideOf("writes") };
  const { content } = await readinessWith({ contentHealth })();
  expect(content).toEqual({ ok: false, required: false, detail });
});

test.each([
  [
    "backup",
    "restored at 2030-01-02T00:00:00.000Z from a backup as of 2030-01-01T00:00:00.000Z: first list what was",
  ],
  [
    "import",
    "restored at 2030-01-02T00:00:00.000Z from an export as of 2030-01-01T00:00:00.000Z: first list what was",
  ],
  [
    "loss",
    "found to lack its newest events at 2030-01-02T00:00:00.000Z; the newest one left is from 2030-01-01T00:00:00.000Z",
  ],
])("a hold after a %s says from when the log is, before it says how to end it", (from, since) => {
  const times = { takenAt: Date.parse("2030-01-01T00:00:00Z"), at: Date.parse("2030-01-02T00:00:00Z") };
  const instance = { isHeld: true, restored: { from, ...times } } as unknown as InstanceState;
  const detail = heldDetail(instance);
  expect(detail).toStartWith(`unfinished work has been held since the log was ${since}`);
  expect(detail).toMatch(/\(--except, docs\/backups\.md\), then `[^`]+ delivery resume` lets it go on$/);
  const sealed = { ...instance, restored: { from, ...times, sealed: true } } as unknown as InstanceState;
  expect(heldDetail(sealed)).not.toContain("--except");
});
