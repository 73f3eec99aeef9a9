import { erasureCodec } from "../../src/domain/erasure/events.ts";
import { mailOwnerIdsOf } from "../../src/kernel/liveOrTestOwner.ts";
import type { ProjectedEvent, ProjectedRows } from "../../src/ports/readDatabase.ts";
import { idOf } from "../projection.ts";
import { RECIPIENT_KEY, recipientKey } from "./tables.ts";

export const ERASURE_EVENTS = ["ErasureRequested", "ErasureApplied"];

const NOTE = "INSERT INTO recipient_erasures (id, workspace_id, recipient_hash) VALUES (?, ?, ?)";
const DONE = "DELETE FROM recipient_erasures WHERE id = ? RETURNING workspace_id, recipient_hash";
/** Only where the content is erased: mail that was accepted after the request keeps its recipient. */
const FORGET = `UPDATE emails INDEXED BY emails_by_recipient SET recipient_hash = ''
  WHERE ${RECIPIENT_KEY} = ? AND recipient_hash = ? AND workspace_id IN (?, ?)
  AND is_retained = 0 AND content_bytes = 0`;

/** Forgets whom messages went to, once the person's erasure is applied: until then it finds them by that. */
export function applyErasure(event: ProjectedEvent, db: ProjectedRows): void {
  const { type, data } = erasureCodec.decode(event);
  if (type === "ErasureRequested") db.run(NOTE, idOf(event), data.workspaceId, data.recipientHash);
  if (type !== "ErasureApplied") return;
  const row = db.change(DONE, idOf(event));
  if (row === undefined) return;
  const hash = String(row.recipient_hash);
  db.run(FORGET, recipientKey(hash), hash, ...mailOwnerIdsOf(String(row.workspace_id)));
}
