import { locationOfFault, type StoreFault } from "../../../ports/eventStore.ts";
import type { ReadDatabase } from "../../../ports/readDatabase.ts";

/** What is wrong at one place in the log. */
export type FindingKind =
  /** An event, or a seal, is not what it was. */
  | "changed"
  /** It is gone, and no event in the log permits that. */
  | "removed"
  /** It was not there when the events around it were sealed. */
  | "inserted"
  /** It is no longer where it was in the order of the log. */
  | "moved"
  /** It is in the log but some readers do not see it, and no event permits that. */
  | "hidden"
  /** It says that something was erased, but the log holds no reason for that. */
  | "unfounded"
  /** Postledger writes no such event, or no such stream. */
  | "unknown"
  /** A seal's signature is missing, wrong, or not by a required key. */
  | "unsigned";

/** What each kind of finding means, for people who do not know the design. */
export const FINDING_MEANINGS: Readonly<Record<FindingKind, string>> = {
  changed: "it was sealed, or made, as something else than it is now",
  removed: "it was there, and no erasure and no retention of the log accounts for its going",
  inserted: "it was put in past the service, which appends events at the end and adds nothing else",
  moved: "it lies elsewhere in the order of the log than when it was sealed",
  hidden: "it is there, but whoever asks for its stream, or reads the log, is not shown it",
  unfounded: "it says that something was erased that nobody asked for, or that no erasure takes",
  unknown: "Postledger writes no such event: somebody else did, or a newer release",
  unsigned: "the seal was not made by the key that has to sign",
};

export interface Finding extends Omit<StoreFault, "kind"> {
  readonly kind: FindingKind;
  /** The revision of the seal that proves it; null if the order of the stream does. */
  readonly seal: number | null;
}

/** What is wrong with one event. */
export type EventFinding = Omit<Finding, "stream" | "revision" | "object"> & {
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
      return db.all(sql, limit).map((row) => ({ ...row }) as unknown as Finding);
    },
    byKind: () =>
      db
        .all("SELECT kind, count(*) AS count FROM findings GROUP BY kind ORDER BY count DESC, kind")
        .map(({ kind, count }) => ({ kind: kind as FindingKind, count: Number(count) })),
  };
}
