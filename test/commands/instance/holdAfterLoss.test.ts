import { beforeEach, expect, test } from "bun:test";
import { AuditSealer } from "../../../src/commands/audit/auditSealer.ts";
import { holdAfterLoss } from "../../../src/commands/instance/holdAfterLoss.ts";
import { openInstance } from "../../../src/commands/instance/openInstance.ts";
import { apiKeyStream } from "../../../src/domain/apiKey/events.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { rfc3339, SECOND_MS } from "../../../src/kernel/time.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";

const BEGUN = Date.parse("2026-01-01T00:00:00Z");
const after = (seconds: number) => BEGUN + seconds * SECOND_MS;
const contextAt = (at: number) => ({ at, correlationId: "test", actor: "system" });
const claims = { masterKey: new Uint8Array(32), masterKeyPrevious: null, contentStoreId: "content" };

let store: EventStore;
beforeEach(() => {
  store = memoryEventStore();
});

const open = () => openInstance(store, claims, contextAt(BEGUN));

async function writeAt(seconds: number): Promise<void> {
  const event = { type: "ApiKeyRevoked", data: {}, metadata: { at: rfc3339(after(seconds)) } };
  await store.append(apiKeyStream(newId()), [{ ...event, id: newId() }], "noStream");
}

async function sealAt(seconds: number): Promise<void> {
  const clock = { now: () => after(seconds), monotonicMs: () => 0 };
  const sealer = new AuditSealer({ store, clock, signingKey: null, actor: "test" });
  do await sealer.readOn(async () => {});
  while (!(await sealer.seal()));
}

async function holds(): Promise<readonly unknown[]> {
  const events = await store.read(INSTANCE_STREAM, 0, 10);
  return events.filter(({ type }) => type === "InstanceRestored").map(({ data }) => data);
}

test("of several instances that find the loss, one begins the hold, and all work on another incarnation", async () => {
  const { incarnation, logId } = await open();
  const find = () => holdAfterLoss(store, incarnation, contextAt(after(60)));
  const outcomes = await Promise.all([find(), find(), find()]);
  expect(outcomes.toSorted()).toEqual(["held", "notHeld", "notHeld"]);
  const held = [
    expect.objectContaining({ from: "backup", lost: true, sealed: false, at: rfc3339(after(60)) }),
  ];
  expect(await holds()).toEqual(held);
  const opened = await open();
  expect(opened.incarnations).toEqual([logId, opened.incarnation]);
  expect(opened.incarnation).not.toBe(incarnation);
});

test("the downtime begins with the newest event left, wherever the last seal is", async () => {
  const downtimeFrom = async () => {
    const { incarnation } = await open();
    await holdAfterLoss(store, incarnation, contextAt(after(60)));
    return (await holds()).at(-1);
  };
  const from = (seconds: number) => expect.objectContaining({ takenAt: rfc3339(after(seconds)) });
  await open();
  await writeAt(5);
  expect(await downtimeFrom()).toEqual(from(5));
  await sealAt(10);
  expect(await downtimeFrom()).toEqual(from(10));
  await writeAt(20);
  expect(await downtimeFrom()).toEqual(from(20));
});

test("the downtime never begins after the loss was found, whatever the clock did meanwhile", async () => {
  const { incarnation } = await open();
  await writeAt(90);
  await holdAfterLoss(store, incarnation, contextAt(after(60)));
  expect(await holds()).toEqual([expect.objectContaining({ takenAt: rfc3339(after(60)) })]);
});
