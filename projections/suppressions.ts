import { suppressionCodec } from "../src/domain/suppression/events.ts";
import type { ProjectedEvent, ReadDatabase } from "../src/ports/readDatabase.ts";
import type { Projection } from "./projection.ts";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = suppressionCodec.decode(event);
  switch (type) {
    case "RecipientSuppressed": {
      const values = [data.workspaceId, data.recipientHash, data.reason, data.emailId ?? null] as const;
      const sql =
        "INSERT INTO suppressions (workspace_id, recipient_hash, reason, email_id, created_at) VALUES (?, ?, ?, ?, ?)";
      db.run(`${sql} ON CONFLICT DO NOTHING`, ...values, event.metadata.at as string);
      break;
    }
    case "RecipientUnsuppressed":
      db.run(
        "DELETE FROM suppressions WHERE workspace_id = ? AND recipient_hash = ?",
        data.workspaceId,
        data.recipientHash,
      );
      break;
  }
}

/** Who must not get mail, by workspace: what acceptance looks at. */
export const suppressions: Projection = {
  name: "suppressions",
  version: 1,
  events: ["RecipientSuppressed", "RecipientUnsuppressed"],
  tables: [
    {
      name: "suppressions",
      columns: `workspace_id TEXT NOT NULL, recipient_hash TEXT NOT NULL, reason TEXT NOT NULL, email_id TEXT,
        created_at TEXT NOT NULL, PRIMARY KEY (workspace_id, recipient_hash)`,
      key: ["workspace_id", "recipient_hash"],
    },
  ],
  apply,
};

export function isSuppressed(db: ReadDatabase, workspaceId: string, recipientHash: string): boolean {
  const sql = "SELECT 1 AS found FROM suppressions WHERE workspace_id = ? AND recipient_hash = ?";
  return db.get(sql, workspaceId, recipientHash) !== undefined;
}
