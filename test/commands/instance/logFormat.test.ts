import { beforeEach, describe, expect, test } from "bun:test";
import { emails } from "../../../projections/emails/emails.ts";
import { projections } from "../../../projections/index.ts";
import { stopAtNewerFormat } from "../../../projections/stopAtNewerFormat.ts";
import { InstanceMismatchError } from "../../../src/commands/instance/instanceMismatchError.ts";
import { openInstance } from "../../../src/commands/instance/openInstance.ts";
import { formatTrouble, requireLogFormat } from "../../../src/commands/instance/requireLogFormat.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { UnreadableEventError } from "../../../src/kernel/event/eventCodec.ts";
import { LOG_FORMAT, LOG_FORMAT_RAISED } from "../../../src/kernel/event/logFormat.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import type { ProjectedEvent, ProjectedRows } from "../../../src/ports/readDatabase.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";

const context = { at: Date.now(), correlationId: "test", actor: "system" };
const claims = { masterKey: new Uint8Array(32), masterKeyPrevious: null, contentStoreId: "content" };
const OLD = { reads: 1, writes: 1 };
const READING = { reads: 2, writes: 1 };
const WRITING = { reads: 2, writes: 2 };

let store: EventStore;
beforeEach(() => {
  store = memoryEventStore();
});

const open = () => openInstance(store, claims, context);
const enter = async (format: typeof OLD) => requireLogFormat(store, (await open()).format, context, format);

async function raised(): Promise<readonly unknown[]> {
  const events = await store.read(INSTANCE_STREAM, 0, 10);
  return events.filter(({ type }) => type === LOG_FORMAT_RAISED).map(({ data }) => data);
}

describe("the format of a log", () => {
  test("is the first, and stays so while nobody writes another", async () => {
    expect((await open()).format).toBe(1);
    for (const format of [OLD, READING, LOG_FORMAT]) await enter(format);
    expect(await raised()).toEqual([]);
    expect(LOG_FORMAT.writes).toBeLessThanOrEqual(LOG_FORMAT.reads);
  });

  test("is raised once, before anybody writes events of the next one, however many do", async () => {
    await Promise.all([enter(WRITING), enter(WRITING), enter(READING)]);
    expect(await raised()).toEqual([{ format: 2 }]);
    expect((await open()).format).toBe(2);
    for (const format of [WRITING, READING]) await enter(format);
    expect(await raised()).toHaveLength(1);
  });

  test("is refused by a program that does not read it", async () => {
    await enter(WRITING);
    const refusal = enter(OLD);
    await expect(refusal).rejects.toThrow(InstanceMismatchError);
    await expect(refusal).rejects.toThrow("(format 2, this one reads 1): upgrade");
    expect(formatTrouble(2, READING)).toBeNull();
  });
});

describe("a read model", () => {
  const lines: string[] = [];
  const projection = { ...emails, apply: ({ type }: ProjectedEvent) => lines.push(type) };
  const db = {} as ProjectedRows;

  async function apply(reads: number): Promise<void> {
    const events = await store.read(INSTANCE_STREAM, 0, 10);
    const event = events.find(({ type }) => type === LOG_FORMAT_RAISED);
    if (!event) throw new Error("nothing was raised");
    stopAtNewerFormat(projection, reads).apply(event, db);
  }

  test("stops before events of a format that this program does not read", async () => {
    await enter(WRITING);
    await expect(apply(1)).rejects.toThrow(UnreadableEventError);
    await expect(apply(1)).rejects.toThrow("format 2, this one reads 1");
    await apply(2);
    await apply(3);
    expect(lines).toEqual([]);
  });

  test("always receives the event that raises the format", () => {
    for (const { events } of projections) expect(events).toContain(LOG_FORMAT_RAISED);
  });
});
