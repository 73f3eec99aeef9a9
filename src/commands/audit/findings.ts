import type { ReadDatabase } from "../../ports/readDatabase.ts";

/** What is wrong at one place of the log. */
export type FindingKind =
  /** An event, or a seal, is not what it was. */
  | "changed"
  /** It is gone, and nothing that the log holds let go of it. */
  | "removed"
  /** It was not there when what lies around it was sealed. */
  | "inserted"
  /** It is not where it was in the order of the log. */
  | "moved"
  /** It is in the log but its stream does not show it any more, and nothing let go of it. */
  | "hidden"
  /** A seal is not signed by whom it has to be. */
  | "unsigned";

export interface Finding {
  readonly kind: FindingKind;
  readonly stream: string;
  readonly revision: number;
  /** The seal that proves it, by its revision; null where the order of the stream does. */
  readonly seal: number | null;
  readonly detail: string;
}

/** All that was found: one finding for each event, the first. On disk, for a log may be wrong all over. */
export interface Findings {
  add(finding: Finding): void;
  count(): number;
  first(limit: number): readonly Finding[];
}

export function findingsIn(db: ReadDatabase): Findings {
  db.run(`CREATE TABLE findings (at INTEGER PRIMARY KEY, kind TEXT NOT NULL, stream TEXT NOT NULL,
    revision INTEGER NOT NULL, seal INTEGER, detail TEXT NOT NULL, UNIQUE (stream, revision))`);
  return {
    add({ kind, stream, revision, seal, detail }) {
      db.run(
        "INSERT INTO findings VALUES (NULL, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        kind,
        stream,
        revision,
        seal,
        detail,
      );
    },
    count: () => Number(db.get("SELECT count(*) AS found FROM findings")?.found),
    first: (limit) =>
      db
        .all("SELECT kind, stream, revision, seal, detail FROM findings ORDER BY at LIMIT ?", limit)
        .map((row) => ({ ...row }) as unknown as Finding),
  };
}
