import { locationOfFault, type StoreFault } from "../../../ports/eventStore.ts";
import { allRows, type ReadDatabase } from "../../../ports/readDatabase.ts";

/** What may be wrong at one place in the log, and what that means, for people who do not know the design. */
export const FINDING_MEANINGS = {
  changed: "it is not what it was when it was sealed or created",
  removed: "it was there, and no erasure, retention or count in the log explains why it is gone",
  inserted: "the service did not write it: it only appends at the end",
  moved: "it is in another place than when it was sealed",
  hidden: "it is there, but a reader of its stream or of the log does not see it",
  unfounded:
    "it says that something was erased, but the log gives no reason, or the reason does not allow that much",
  unknown: "Postledger writes no such event: somebody else did, or a newer release",
  unsigned: "the seal's signature is missing or wrong, or not by the required key",
};
export type FindingKind = keyof typeof FINDING_MEANINGS;

export interface Finding extends Omit<StoreFault, "kind"> {
  readonly kind: FindingKind;
  /** The revision of the seal that proves it; null if the order of the stream does. */
  readonly seal: number | null;
}

/** What is wrong with one event. */
type EventFinding = Omit<Finding, "stream" | "revision" | "object"> & {
  readonly stream: string;
  readonly revision: number;
};

/** All findings, only the first for each event. They are on disk, because every event of a log may be wrong. */
export interface Findings {
  add(finding: EventFinding): void;
  addFault(fault: StoreFault): void;
  count(): number;
  first(limit: number): readonly Finding[];
  /** How many of each kind, the most first. */
  byKind(): readonly { readonly kind: FindingKind; readonly count: number }[];
}

export function findingsIn(db: ReadDatabase): Findings {
  db.run(`CREATE TABLE findings (at INTEGER PRIMARY KEY, kind TEXT NOT NULL, stream TEXT, revision INTEGER,
    object TEXT, seal INTEGER, detail TEXT NOT NULL, place TEXT NOT NULL UNIQUE)`);
  const add = (finding: Finding) => {
    const { kind, stream, revision, object, seal, detail } = finding;
    db.run(
      "INSERT INTO findings VALUES (NULL, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
      ...[kind, stream, revision, object, seal, detail, locationOfFault(finding)],
    );
  };
  return {
    add: (finding) => add({ ...finding, object: null }),
    addFault: (fault) => add({ ...fault, seal: null }),
    count: () => Number(db.get("SELECT count(*) AS found FROM findings")?.found),
    first(limit) {
      const sql = "SELECT kind, stream, revision, object, seal, detail FROM findings ORDER BY at LIMIT ? + 0";
      return allRows(db, sql, limit);
    },
    byKind: () =>
      allRows(db, "SELECT kind, count(*) AS count FROM findings GROUP BY kind ORDER BY count DESC, kind"),
  };
}
