import { describe, expect, test } from "bun:test";
import { overdueReservations, storageReservations } from "../../projections/storageReservations.ts";
import { type StorageEvent, storageStream } from "../../src/domain/storage/events.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const reserved = (holder: string, bytes: number, at = NOW): StorageEvent => ({
  type: "StorageReserved",
  data: { holder, bytes, until: rfc3339(at) },
});

/** The rows after these events of one workspace's stream, null for those that can't be read any more, and who is overdue at `NOW`. */
function project(events: readonly (StorageEvent | null)[]) {
  const db = emptyReadModel(storageReservations);
  events.forEach((event, revision) => {
    if (event === null) return;
    const { type, data } = event;
    const id = crypto.randomUUID();
    storageReservations.apply({ stream: storageStream("shop"), revision, id, type, data, metadata: {} }, db);
  });
  const rows = db.all("SELECT * FROM storage_reservations ORDER BY owner").map((row) => ({ ...row }));
  const overdue = overdueReservations(db, NOW, 10).map(({ owner }) => owner);
  db.close();
  return { rows, overdue };
}

const row = (owner: string, bytes: number, until: number | null, revision: number) => ({
  workspace_id: "shop",
  owner,
  bytes,
  until,
  revision,
});

describe("the read model of storage", () => {
  test("holds the latest reservation of each holder", () => {
    const { rows } = project([
      reserved("a", 1),
      reserved("b", 2),
      reserved("a", 3, NOW + 1),
      { type: "StorageReleased", data: { holder: "b" } },
    ]);
    expect(rows).toEqual([row("a", 3, NOW + 1, 2)]);
  });

  test("lists overdue holders: past their time and not confirmed", () => {
    const { overdue, rows } = project([
      reserved("late", 1, NOW + 1),
      reserved("now", 1),
      reserved("long ago", 1, NOW - 5),
      reserved("seen", 1, NOW - 5),
      { type: "StorageConfirmed", data: { holders: ["seen", "nobody"] } },
    ]);
    expect(overdue).toEqual(["long ago", "now"]);
    expect(rows).toHaveLength(4);
  });

  test("has the same rows when events before a count can no longer be read", () => {
    const before: StorageEvent[] = [
      reserved("a", 1),
      reserved("b", 2),
      { type: "StorageConfirmed", data: { holders: ["a"] } },
      { type: "StorageReleased", data: { holder: "b" } },
    ];
    const after: StorageEvent[] = [
      reserved("c", 4),
      { type: "StorageCounted", data: { open: [{ holder: "a", bytes: 1, until: null }] } },
      reserved("d", 8),
    ];
    const unread = before.map(() => null);
    expect(project([...unread, ...after]).rows).toEqual(project([...before, ...after]).rows);
  });

  test("has the same rows when the stream is truncated while it is read", () => {
    const counted = (...open: [holder: string, bytes: number][]): StorageEvent => ({
      type: "StorageCounted",
      data: { open: open.map(([holder, bytes]) => ({ holder, bytes, until: rfc3339(NOW) })), before: 3 },
    });
    const events = [
      reserved("gone", 1),
      reserved("stays", 2),
      { type: "StorageReleased", data: { holder: "gone" } } as const,
      reserved("new", 4),
      counted(["stays", 2]),
    ];
    const expected = [row("new", 4, NOW, 3), row("stays", 2, NOW, 4)];
    expect(project(events).rows).toEqual(expected);
    for (let read = 0; read < 3; read += 1) {
      const seen = events.map((event, index) => (index >= read && index < 3 ? null : event));
      expect(project(seen).rows).toEqual(expected);
    }
  });
});
