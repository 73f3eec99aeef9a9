import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import type { ExportEnd } from "../../../src/commands/log/exportFormat.ts";
import { exportLog } from "../../../src/commands/log/exportLog.ts";
import { checkExport, type Imported, importLog } from "../../../src/commands/log/importLog.ts";
import { isPortableEvent } from "../../../src/commands/log/isPortableEvent.ts";
import { newId } from "../../../src/kernel/ids.ts";
import {
  type EventStore,
  LOG_START,
  type NewEvent,
  type RecordedEvent,
} from "../../../src/ports/eventStore.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";

/** A log of one instance, without events yet. */
export async function beginLog(store: EventStore): Promise<void> {
  const data = { logId: newId(), sealedDataKey: "sealed", contentStoreId: newId() };
  await append(store, "instance", { ...someEvent(), type: "InstanceCreated", data });
}

export function someEvent(data: object | Uint8Array = { n: Math.random() }): NewEvent {
  const metadata = { schema: 1, at: new Date().toISOString(), correlationId: "test", actor: "test" };
  return { id: crypto.randomUUID(), type: "Happened", data, metadata };
}

export async function append(
  store: EventStore,
  stream: string,
  ...events: readonly NewEvent[]
): Promise<void> {
  const last = await store.lastRevision(stream);
  const result = await store.append(stream, events, last ?? "noStream");
  if (result.outcome !== "appended") throw new Error("the append lost a race");
}

/** The lines of an export, with what its end says. */
export async function exportOf(store: EventStore): Promise<{ lines: readonly string[]; end: ExportEnd }> {
  const [first] = await store.read("instance", 0, 1);
  const { logId, contentStoreId, sealedDataKey } = (first?.data ?? {}) as Record<string, string>;
  const scratch = sqliteReadDatabases.open(":memory:", "build");
  const header = {
    ...{ exportId: newId(), exportedAt: new Date().toISOString(), sealed: false },
    ...{ logId: logId ?? "", contentStoreId: contentStoreId ?? "", sealedDataKey: sealedDataKey ?? "" },
  };
  const ends: ExportEnd[] = [];
  let text = "";
  const onEnd = (end: ExportEnd) => void ends.push(end);
  for await (const chunk of exportLog({ store, header, scratch, onProgress: () => {}, onEnd })) text += chunk;
  scratch.close();
  const [end] = ends;
  if (!end) throw new Error("the export reported no end");
  return { lines: text.trimEnd().split("\n"), end };
}

/** Imports lines that are in memory, in pages of three. */
export async function importOf(store: EventStore, lines: readonly string[]): Promise<Imported> {
  const pages = async function* () {
    for (let index = 0; index < lines.length; index += 3) yield lines.slice(index, index + 3);
  };
  const checked = await checkExport(pages);
  return importLog({
    ...{ store, ...checked, lines: pages, context: systemCommandContext("test") },
    onProgress: () => {},
  });
}

/** What whoever reads a stream sees of it. */
export interface StreamView {
  readonly last: number | null;
  readonly events: readonly Omit<RecordedEvent, "position">[];
}

/** Every stream as a reader sees it, and the order of the log. */
export async function snapshotOf(store: EventStore, streams: Iterable<string>) {
  const views: Record<string, StreamView> = {};
  for (const stream of streams) {
    const events = (await store.read(stream, 0, 100_000)).map(({ position: _, ...event }) => event);
    views[stream] = { last: await store.lastRevision(stream), events };
  }
  const order: string[] = [];
  for await (const { events } of store.readAll(LOG_START, {})) {
    order.push(...events.filter(isPortableEvent).map(({ id }) => id));
  }
  return { views, order };
}

/** An empty embedded store of a test's own. */
export function emptyStore(): { readonly store: EventStore; readonly remove: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "portable-"));
  const store = openSqliteEventStore({ path: join(folder, "events.db") });
  return {
    store,
    async remove() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
