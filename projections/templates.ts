import { templateCodec } from "../src/domain/template/events.ts";
import type { ProjectedEvent, ReadDatabase } from "../src/ports/readDatabase.ts";
import { CURSOR_COLUMNS, newestRows, type PageQuery } from "./keysetPagination.ts";
import { idOf, type Projection } from "./projection.ts";

const INSERT = `INSERT INTO templates
  (id, workspace_id, name, alias, status, current_version_id, created_at, updated_at, source_bytes)
  VALUES (?, ?, ?, ?, 'draft', NULL, ?, ?, 0)`;
const RENAME = "UPDATE templates SET name = ?, updated_at = ? WHERE id = ?";
const DRAFT = "UPDATE templates SET source_bytes = source_bytes + ? WHERE id = ?";
const PUBLISH =
  "UPDATE templates SET status = 'published', current_version_id = ?, updated_at = ? WHERE id = ?";
const ARCHIVE = "UPDATE templates SET status = 'archived', updated_at = ? WHERE id = ?";

const DELETED = "DELETE FROM templates WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const id = idOf(event);
  const { type, data } = templateCodec.decode(event);
  switch (type) {
    case "TemplateCreated":
      db.run(INSERT, id, data.workspaceId, data.name, data.alias ?? null, data.at, data.at);
      break;
    case "TemplateRenamed":
      db.run(RENAME, data.name, data.at, id);
      break;
    case "TemplateVersionDrafted":
      db.run(DRAFT, data.bytes, id);
      break;
    case "TemplateVersionPublished":
      db.run(PUBLISH, data.versionId, data.at, id);
      break;
    case "TemplateArchived":
      db.run(ARCHIVE, data.at, id);
      break;
    case "TemplateDeleted":
      db.run(DELETED, id);
      break;
  }
}

/** The templates of each workspace, without their versions. */
export const templates: Projection<"templates"> = {
  name: "templates",
  version: 5,
  events: templateCodec.types,
  tables: [
    {
      name: "templates",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, name TEXT NOT NULL, alias TEXT,
        status TEXT NOT NULL, current_version_id TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
        source_bytes INTEGER NOT NULL`,
      key: ["id"],
      indexes: ["CREATE INDEX templates_by_time ON templates (workspace_id, created_at)"],
    },
  ],
  apply,
};

export function countTemplates(db: ReadDatabase, workspaceId: string): number {
  return Number(db.get("SELECT count(*) AS count FROM templates WHERE workspace_id = ?", workspaceId)?.count);
}

/** Bytes of the sources of the workspace's templates, all versions included. */
export function sourceBytesOf(db: ReadDatabase, workspaceId: string): number {
  const sql = "SELECT total(source_bytes) AS bytes FROM templates WHERE workspace_id = ?";
  return Number(db.get(sql, workspaceId)?.bytes);
}

export interface TemplateRow {
  readonly id: string;
  readonly name: string;
  readonly alias: string | null;
  readonly status: "draft" | "published" | "archived";
  readonly currentVersionId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const COLUMNS = `${CURSOR_COLUMNS}, name, alias, status, current_version_id AS currentVersionId, updated_at AS updatedAt`;

/** Templates of one workspace, newest first. */
export function listTemplates(db: ReadDatabase, owner: string, page: PageQuery): readonly TemplateRow[] {
  return newestRows(db, { table: "templates", of: "workspace_id", owner, columns: COLUMNS }, page);
}
