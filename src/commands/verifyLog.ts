import { AUDIT_STREAM } from "../domain/audit/events.ts";
import { contentLeaf, eventLeaf } from "../kernel/eventLeaf.ts";
import { EVENT_ERASED, isOfTheLog } from "../kernel/ofTheLog.ts";
import type { PublicKey } from "../kernel/signingKey.ts";
import {
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
  type Truncation,
} from "../ports/eventStore.ts";
import type { ReadDatabaseFile, ReadDatabases } from "../ports/readDatabase.ts";
import { type Finding, findingsIn } from "./audit/findings.ts";
import { letGoBy } from "./audit/letGo.ts";
import { type ChainReport, SealChain } from "./audit/sealChain.ts";
import { SealedPlaces } from "./audit/sealedPlaces.ts";
import { StreamOrder } from "./audit/streamOrder.ts";

export interface VerifyLogOptions {
  readonly store: EventStore;
  readonly databases: ReadDatabases;
  /** A file that is made, used and removed: what memory could not hold. */
  readonly scratchPath: string;
  /** The keys that have to sign; none: seals need not be signed, and any signature has to be that of its own key. */
  readonly trusted: readonly PublicKey[];
  /** The leaf of a seal that has to be in the chain, because somebody kept it elsewhere. */
  readonly kept: string | null;
  readonly onProgress?: (progress: {
    readonly events: number;
    readonly position: Position;
    readonly head: Position;
  }) => void;
  readonly signal: AbortSignal;
}

export interface LogVerification {
  /** Events that were read, seals among them. */
  readonly events: number;
  readonly chain: ChainReport;
  /** Events that no seal covers yet. */
  readonly uncovered: number;
  readonly findings: number;
  /** The first of them. */
  readonly shown: readonly Finding[];
}

/** Findings that are told of one by one; all are counted. */
const FINDINGS_SHOWN_MAX = 100;

/**
 * Reads the log once from its start and compares it with its seals: finds what was changed, removed, inserted or moved
 * among the events that they cover, and revisions that are missing anywhere. Works beside a running service; memory
 * does not grow with the log. Throws `StoreError`, or the signal's reason.
 */
export async function verifyLog(options: VerifyLogOptions): Promise<LogVerification> {
  const db = options.databases.open(options.scratchPath, "build");
  try {
    return await walk(options, db);
  } finally {
    db.close();
    options.databases.remove(options.scratchPath);
  }
}

async function walk(options: VerifyLogOptions, db: ReadDatabaseFile): Promise<LogVerification> {
  const { store, trusted, kept, onProgress, signal } = options;
  const check = new LogCheck(db, trusted, kept);
  // Before the log is read: what is truncated by now was let go of by an event that we come past.
  for await (const page of store.truncations()) {
    signal.throwIfAborted();
    db.begin();
    check.takeTruncations(page);
    db.commit();
  }
  const lastSeal = await store.lastRevision(AUDIT_STREAM);
  const head = await store.head();
  let events = 0;
  let end = LOG_START;
  for await (const batch of store.readAll(LOG_START, {})) {
    signal.throwIfAborted();
    db.begin();
    for (const event of batch.events) {
      check.take(event);
      // A seal takes thousands of rows away, and what a transaction changes is in memory until its end.
      if (event.stream === AUDIT_STREAM) {
        db.commit();
        db.begin();
      }
    }
    db.commit();
    events += batch.events.length;
    end = batch.position;
    onProgress?.({ events, position: batch.position, head });
  }
  // What went while we read was let go of by an event that may lie behind what we have read.
  for await (const batch of store.readAll(end, {})) {
    for (const event of batch.events) check.release(event);
  }
  return { events, ...check.finish(lastSeal) };
}

/** Everything that is checked as the log goes by. */
class LogCheck {
  private readonly findings;
  private readonly order;
  private readonly places;
  private readonly chain;

  constructor(db: ReadDatabaseFile, trusted: readonly PublicKey[], kept: string | null) {
    this.findings = findingsIn(db);
    this.order = new StreamOrder(db, this.findings);
    this.places = new SealedPlaces(db, this.findings, this.order);
    this.chain = new SealChain(this.findings, trusted, kept);
  }

  takeTruncations(page: readonly Truncation[]): void {
    for (const { stream, before } of page) this.order.truncate(stream, before);
  }

  take(event: RecordedEvent): void {
    if (event.stream === AUDIT_STREAM) {
      this.order.see(event);
      const seal = this.chain.take(event);
      if (seal) this.places.compare(seal);
    } else if (isOfTheLog(event)) this.takeEvent(event);
    else if (event.type === EVENT_ERASED) this.order.seePlaceholder(event);
  }

  finish(lastSeal: number | null): Omit<LogVerification, "events"> {
    const chain = this.chain.finish(lastSeal);
    const uncovered = this.places.finish();
    this.order.finish();
    const { findings } = this;
    return { chain, uncovered, findings: findings.count(), shown: findings.first(FINDINGS_SHOWN_MAX) };
  }

  private takeEvent(event: RecordedEvent): void {
    const { stream, revision } = event;
    const firstMissing = this.order.see(event);
    const content = firstMissing === 0 ? contentLeaf(event) : null;
    // Where its content is gone, the acceptance says what the leaf was: it lay right before it.
    if (content !== null) this.places.wait({ stream, revision: 0, leaf: content }, false);
    this.places.wait({ stream, revision, leaf: eventLeaf(event) }, true);
    this.release(event);
  }

  /** Takes no more of an event than what it lets go of. */
  release(event: RecordedEvent): void {
    const { stream } = event;
    const { below, erased } = letGoBy(event);
    if (below > 0) this.order.release(stream, below);
    if (erased.length === 0) return;
    for (const { revision, leaf } of erased) this.places.carry({ stream, revision, leaf });
    let released = this.order.released(stream);
    while (this.places.isCarried(stream, released)) released += 1;
    this.order.release(stream, released);
  }
}
