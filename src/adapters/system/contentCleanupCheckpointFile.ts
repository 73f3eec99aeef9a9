import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { FILE_MODE } from "../../kernel/fileModes.ts";
import type { ContentCleanupCheckpoint } from "../../ports/contentCleanupCheckpoint.ts";
import { LOG_START, type Position } from "../../ports/eventStore.ts";

/** A checkpoint in its own file. `log` names the log and the kind of its store, because positions differ by both. */
export function contentCleanupCheckpointFile(path: string, log: string): ContentCleanupCheckpoint {
  return {
    load() {
      try {
        const saved = JSON.parse(readFileSync(path, "utf8")) as { log?: unknown; position?: unknown };
        return saved.log === log && typeof saved.position === "string"
          ? (saved.position as Position)
          : LOG_START;
      } catch {
        // The file is missing or incomplete. Reading the log again does no harm.
        return LOG_START;
      }
    },
    save(position) {
      const temporary = `${path}.tmp`;
      writeFileSync(temporary, JSON.stringify({ log, position }), { mode: FILE_MODE });
      renameSync(temporary, path);
    },
  };
}
