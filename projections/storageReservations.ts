import { storageCodec } from "../src/domain/storage/events.ts";
import { type EpochMs, epochMs } from "../src/kernel/time.ts";
import { allRows, type ProjectedEvent, type ReadDatabase } from "../src/ports/readDatabase.ts";
import { idOf, type Projection } from "./projection.ts";

const RESERVED = `INSERT INTO storage_reservations (workspace_id, owner, bytes, until, revision) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (workspace_id, owner)
  DO UPDATE SET bytes = excluded.bytes, until = excluded.until, revision = excluded.revision`;
/** If the stream is truncated meanwhile, a reader may have seen a reservation and then miss its release. */
const COUNTED = "DELETE FROM storage_reservations WHERE workspace_id = ? AND revision < ?";
const RELEASED = "DELETE FROM storage_reservations WHERE workspace_id = ? AND owner = ?";
const CONFIRMED = "UPDATE storage_reservations SET until = NULL WHERE workspace_id = ? AND owner = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const accountId = idOf(event);
  const { type, data } = storageCodec.decode(event);
  switch (type) {
    case "StorageReserved":
      db.run(RESERVED, accountId, data.holder, data.bytes, epochMs(data.until), event.revision);
      break;
    case "StorageCounted":
      for (const { holder: owner, bytes, until } of data.open) {
        db.run(RESERVED, accountId, owner, bytes, until === null ? null : epochMs(until), event.revision);
      }
      if (data.before !== undefined) db.run(COUNTED, accountId, data.before);
      break;
    case "StorageConfirmed":
      for (const owner of data.holders) db.run(CONFIRMED, accountId, owner);
      break;
    default:
      db.run(RELEASED, accountId, data.holder);
      break;
  }
}

/**
 * The open reservations of storage. `workspace_id` here is the id of the account, which differs for test mail. `until`
 * is null once the owner is known to exist; `revision` is that of the last event about the reservation.
 */
export const storageReservations: Projection<"storage-reservations"> = {
  name: "storage-reservations",
  version: 1,
  events: storageCodec.types,
  tables: [
    {
      name: "storage_reservations",
      columns: `workspace_id TEXT NOT NULL, owner TEXT NOT NULL, bytes INTEGER NOT NULL, until INTEGER,
        revision INTEGER NOT NULL, PRIMARY KEY (workspace_id, owner)`,
      key: ["workspace_id", "owner"],
      indexes: [
        "CREATE INDEX storage_reservations_by_time ON storage_reservations (until) WHERE until IS NOT NULL",
      ],
    },
  ],
  apply,
};

/** A reservation whose owner should exist by now. */
export interface OverdueReservation {
  readonly accountId: string;
  readonly owner: string;
}

/** Unconfirmed reservations that are overdue at `now`, oldest first. */
export function overdueReservations(
  db: ReadDatabase,
  now: EpochMs,
  limit: number,
): readonly OverdueReservation[] {
  const sql = `SELECT workspace_id AS accountId, owner FROM storage_reservations
    WHERE until <= ? ORDER BY until LIMIT ? + 0`;
  return allRows(db, sql, now, limit);
}
