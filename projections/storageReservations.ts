import { storageCodec, workspaceOfStorage } from "../src/domain/storage/events.ts";
import { type EpochMs, epochMs } from "../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../src/ports/readDatabase.ts";
import type { Projection } from "./projection.ts";

const HELD = `INSERT INTO storage (workspace_id, holder, bytes, until, revision) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (workspace_id, holder)
  DO UPDATE SET bytes = excluded.bytes, until = excluded.until, revision = excluded.revision`;
/** Whoever reads while the stream is cut off may have seen somebody reserve and not release. */
const COUNTED = "DELETE FROM storage WHERE workspace_id = ? AND revision < ?";
const RELEASED = "DELETE FROM storage WHERE workspace_id = ? AND holder = ?";
const CONFIRMED = "UPDATE storage SET until = NULL WHERE workspace_id = ? AND holder = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const workspaceId = workspaceOfStorage(event.stream);
  const { type, data } = storageCodec.decode(event);
  switch (type) {
    case "StorageReserved":
      db.run(HELD, workspaceId, data.holder, data.bytes, epochMs(data.until), event.revision);
      break;
    case "StorageCounted":
      for (const { holder, bytes, until } of data.open) {
        db.run(HELD, workspaceId, holder, bytes, until === null ? null : epochMs(until), event.revision);
      }
      if (data.before !== undefined) db.run(COUNTED, workspaceId, data.before);
      break;
    case "StorageConfirmed":
      for (const holder of data.holders) db.run(CONFIRMED, workspaceId, holder);
      break;
    default:
      db.run(RELEASED, workspaceId, data.holder);
      break;
  }
}

/**
 * Who holds how much of the storage allowances; `until` is null for holders that were seen to exist, `revision` the
 * event that said last what they hold.
 */
export const storage: Projection = {
  name: "storage",
  version: 2,
  events: storageCodec.types,
  tables: [
    {
      name: "storage",
      columns: `workspace_id TEXT NOT NULL, holder TEXT NOT NULL, bytes INTEGER NOT NULL, until INTEGER,
        revision INTEGER NOT NULL, PRIMARY KEY (workspace_id, holder)`,
      key: ["workspace_id", "holder"],
      indexes: ["CREATE INDEX storage_by_time ON storage (until) WHERE until IS NOT NULL"],
    },
  ],
  apply,
};

/** Somebody who has storage reserved. */
export interface StorageHolder {
  readonly workspaceId: string;
  readonly holder: string;
}

/** The holders that nobody has seen and whose time is over at `now`, the oldest first. */
export function overdueHolders(db: ReadDatabase, now: EpochMs, limit: number): readonly StorageHolder[] {
  return db
    .all("SELECT workspace_id, holder FROM storage WHERE until <= ? ORDER BY until LIMIT ?", now, limit)
    .map((row) => ({ workspaceId: String(row.workspace_id), holder: String(row.holder) }));
}
