import { nameOfSealed, SEAL_EVENTS_MAX, type SealedEvent } from "../../../domain/audit/seal.ts";
import type { ReadDatabaseFile } from "../../../ports/readDatabase.ts";
import type { FindingKind, Findings } from "./auditFindings.ts";
import type { ReadSeal } from "./auditSealChain.ts";
import { losesEventHashes } from "./permittedErasures.ts";
import type { RevisionGaps } from "./revisionGaps.ts";

/** An event that waits for the seal that names it. */
interface Waiting extends SealedEvent {
  readonly seq: number;
  /** False if only its hash is left, in a later event. */
  readonly isThere: boolean;
}

/** An event, and the seal that names it or should. */
interface NamedEvent extends SealedEvent {
  readonly seal: number;
}

/** What became of the events that the seals or the log name. */
export interface SealMatch {
  /** Events in the log that a seal covers. */
  readonly compared: number;
  /** Events that a seal covers, and that were erased for a reason in the log. */
  readonly erased: number;
  /** Events that no seal covers yet. */
  readonly uncovered: number;
}

/** A waiting event, and its index in the seal that names it. */
interface RowPage {
  readonly row: Waiting;
  readonly index: number;
}

/** How many other events we skip while looking for the next one that a seal names. */
const LOOK_AHEAD_EVENTS = SEAL_EVENTS_MAX;

const TABLES = [
  `CREATE TABLE waiting (seq INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL,
    leaf TEXT NOT NULL, there INTEGER NOT NULL)`,
  ...["absent", "surplus"].map(
    (name) => `CREATE TABLE ${name} (stream TEXT NOT NULL, revision INTEGER NOT NULL, leaf TEXT NOT NULL,
      seal INTEGER NOT NULL, PRIMARY KEY (stream, revision)) WITHOUT ROWID`,
  ),
  `CREATE TABLE carried (stream TEXT NOT NULL, revision INTEGER NOT NULL, leaf TEXT NOT NULL,
    PRIMARY KEY (stream, revision, leaf)) WITHOUT ROWID`,
];

/**
 * Compares the events of the log with those that the seals name. A seal comes after its events, so events wait here for
 * it. What one side lacks is kept until the end, because it may turn up elsewhere: as an event that was moved, or as the
 * hash of one that was erased.
 */
export class SealMatcher {
  /** Whether seals before the next one are lost, so the events they named may still be waiting. */
  private areSealsLost = false;
  private compared = 0;
  private erased = 0;

  constructor(
    private readonly db: ReadDatabaseFile,
    private readonly findings: Findings,
    private readonly order: RevisionGaps,
  ) {
    for (const table of TABLES) db.run(table);
  }

  /** Takes the next event of the log. */
  wait({ stream, revision, leaf }: SealedEvent, isThere: boolean): void {
    this.db.run("INSERT INTO waiting VALUES (NULL, ?, ?, ?, ?)", stream, revision, leaf, isThere ? 1 : 0);
  }

  /** Takes the hash of an erased event, from a later event that carries it. */
  carry({ stream, revision, leaf }: SealedEvent): void {
    this.db.run("INSERT OR IGNORE INTO carried VALUES (?, ?, ?)", stream, revision, leaf);
  }

  /** Whether a later event carries the hash of this revision. */
  isCarried(stream: string, revision: number): boolean {
    return (
      this.db.get("SELECT 1 FROM carried WHERE stream = ? AND revision = ?", stream, revision) !== undefined
    );
  }

  /** Takes a seal: the events it names must come before it, in this order, with nothing else in between. */
  compare({ revision: seal, sealed, isNext }: ReadSeal): void {
    this.areSealsLost ||= !isNext;
    const open = new Map(sealed.map((event, index) => [nameOfSealed(event), index]));
    const found: RowPage[] = [];
    let others: Waiting[] = [];
    for (const row of this.waiting()) {
      const index = open.get(nameOfSealed(row));
      if (index === undefined) {
        others.push(row);
        if (others.length > LOOK_AHEAD_EVENTS) break;
        continue;
      }
      // Events named by lost seals cannot be told from inserted ones.
      if (!this.areSealsLost || found.length > 0) this.leaveOver(others, seal);
      others = [];
      found.push({ row, index });
      open.delete(nameOfSealed(row));
      if (open.size === 0) break;
    }
    if (found.length > 0) this.areSealsLost = false;
    this.compareFound(found, sealed, seal);
    for (const index of open.values()) this.miss(sealed[index] as SealedEvent, seal);
    this.db.run("DELETE FROM waiting WHERE seq <= ?", found.at(-1)?.row.seq ?? 0);
  }

  /** Reports the events that did not turn up, and those that no seal expected. */
  finish(): SealMatch {
    if (this.db.get("SELECT 1 FROM absent LIMIT 1")) {
      this.db.run("CREATE INDEX waiting_by_name ON waiting (stream, revision)");
    }
    for (const row of this.db.rows("SELECT * FROM absent")) this.settleAbsent(row as unknown as NamedEvent);
    const surplus = `SELECT * FROM surplus s WHERE NOT EXISTS
      (SELECT 1 FROM carried c WHERE c.stream = s.stream AND c.revision = s.revision AND c.leaf = s.leaf)`;
    for (const row of this.db.rows(surplus))
      this.report("inserted", row as unknown as NamedEvent, "it was not there when the log was sealed");
    const uncovered = Number(this.db.get("SELECT count(*) AS rest FROM waiting WHERE there = 1")?.rest);
    return { compared: this.compared, erased: this.erased, uncovered };
  }

  private *waiting(): Iterable<Waiting> {
    for (const row of this.db.rows("SELECT * FROM waiting ORDER BY seq")) {
      yield { ...(row as unknown as Waiting), isThere: row.there === 1 };
    }
  }

  private compareFound(found: readonly RowPage[], sealed: readonly SealedEvent[], seal: number): void {
    const inOrder = found.map(({ index }) => index).sort((a, b) => a - b);
    found.forEach(({ row, index }, at) => {
      if (row.isThere) this.compared += 1;
      else this.erased += 1;
      if (row.leaf !== sealed[index]?.leaf) this.report("changed", { ...row, seal }, notWhat(row.isThere));
      else if (inOrder[at] !== index) this.report("moved", { ...row, seal }, ELSEWHERE);
    });
  }

  /** Keeps events that no seal names in their place. */
  private leaveOver(rows: readonly Waiting[], seal: number): void {
    for (const row of rows) {
      const { stream, revision, leaf, isThere } = row;
      if (!isThere) this.carry(row);
      else this.db.run("INSERT OR IGNORE INTO surplus VALUES (?, ?, ?, ?)", stream, revision, leaf, seal);
    }
  }

  private miss({ stream, revision, leaf }: SealedEvent, seal: number): void {
    this.db.run("INSERT OR IGNORE INTO absent VALUES (?, ?, ?, ?)", stream, revision, leaf, seal);
  }

  private settleAbsent(event: NamedEvent): void {
    const { stream, revision, leaf } = event;
    const name = [stream, revision];
    const elsewhere =
      this.db.get("SELECT leaf FROM surplus WHERE stream = ? AND revision = ?", ...name) ??
      this.db.get("SELECT leaf FROM waiting WHERE there = 1 AND stream = ? AND revision = ?", ...name);
    if (elsewhere) {
      this.compared += 1;
      if (elsewhere.leaf === leaf) this.report("moved", event, ELSEWHERE);
      else this.report("changed", event, notWhat(true));
      this.db.run("DELETE FROM surplus WHERE stream = ? AND revision = ?", ...name);
      return;
    }
    const carried = this.db.all("SELECT leaf FROM carried WHERE stream = ? AND revision = ?", ...name);
    const isUnhashed = losesEventHashes(stream) && revision < this.order.released(stream);
    if (carried.length === 0 && !isUnhashed) {
      this.report("removed", event, "it was sealed, and no event permits its removal");
      return;
    }
    this.erased += 1;
    if (carried.length > 0 && !carried.some((row) => row.leaf === leaf))
      this.report("changed", event, notWhat(false));
  }

  private report(kind: FindingKind, { stream, revision, seal }: NamedEvent, detail: string): void {
    this.findings.add({ kind, stream, revision, seal, detail });
  }
}

const ELSEWHERE = "it was elsewhere when the log was sealed";

function notWhat(isThere: boolean): string {
  return isThere
    ? "it is not what was sealed"
    : "the hash given for the erased event is not the one that was sealed";
}
