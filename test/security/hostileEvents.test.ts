import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { plainData, UnreadableEventError } from "../../src/kernel/event/eventCodec.ts";
import { eventHash, type HashedEvent } from "../../src/kernel/event/eventHash.ts";
import { newId } from "../../src/kernel/ids.ts";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const BOMB_BYTES = 64 * 1_024 * 1_024;
const MB = 1_024 * 1_024;

function event(data: object | Uint8Array, type = "EmailQueued"): HashedEvent {
  return { stream: "email-1", revision: 1, type, id: newId(), data, metadata: {} };
}

describe("an event written to the store behind the service's back", () => {
  test("is decompressed only up to a bound", () => {
    const bomb = Bun.zstdCompressSync(Buffer.concat([Buffer.from("{}"), Buffer.alloc(BOMB_BYTES, " ")]));
    expect(bomb.length).toBeLessThan(MB);
    expect(() => plainData({ type: "EmailQueued", data: bomb })).toThrow(UnreadableEventError);
  });

  test("has no leaf when it is nested deeper than the stack allows, which is reported", () => {
    const deep = JSON.parse(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
    const saltedContent = { salt: crypto.randomUUID(), content: deep };
    for (const one of [
      event(deep),
      event(saltedContent, "EmailContentStored"),
      { ...event({}), metadata: deep },
    ])
      expect(() => eventHash(one)).toThrow(UnreadableEventError);
  });

  test("has another leaf when null was changed to a number that is too large", () => {
    const salt = crypto.randomUUID();
    const [id, other] = ["null", "1e999"].map((text) => JSON.parse(`{"a":${text}}`));
    for (const [one, two] of [
      [event(id), event(other)],
      [
        event({ salt, content: id }, "EmailContentStored"),
        event({ salt, content: other }, "EmailContentStored"),
      ],
    ] as const)
      expect(eventHash({ ...two, id: one.id })).not.toBe(eventHash(one));
  });

  test("does not make a reader step through positions that do not exist", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "events.db");
    const far = Number.MAX_SAFE_INTEGER - 1;
    const store = openSqliteEventStore({ path });
    try {
      for (const stream of ["a", "b"])
        await store.append(stream, [{ id: newId(), type: "A", data: {}, metadata: {} }], "noStream");
      const db = new DatabaseSync(path);
      db.exec(`UPDATE events SET position = ${far} WHERE position = 2; UPDATE log SET head = ${far}`);
      db.close();
      const streams: string[] = [];
      let batches = 0;
      for await (const { events } of store.readAll(LOG_START, {})) {
        batches += 1;
        streams.push(...events.map(({ stream }) => stream));
      }
      expect(streams).toEqual(["a", "b"]);
      expect(batches).toBeLessThan(10);
    } finally {
      await store.close();
    }
  });
});
