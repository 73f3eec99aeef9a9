import { AUDIT_STREAM } from "../../../domain/audit/events.ts";
import type { PublicKey } from "../../../kernel/crypto/auditSigningKey.ts";
import { UnreadableEventError } from "../../../kernel/event/codec.ts";
import { contentEventHash, eventHash } from "../../../kernel/event/eventHash.ts";
import { EVENT_ERASED, isLogEvent } from "../../../kernel/event/storeLocalEvents.ts";
import { MINUTE_MS } from "../../../kernel/time.ts";
import {
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
  StoreError,
  type StoreFault,
  type Truncation,
} from "../../../ports/eventStore.ts";
import type { ReadDatabaseFile, ReadDatabases } from "../../../ports/readDatabase.ts";
import { type Finding, type FindingKind, findingsIn } from "./auditFindings.ts";
import { AuditSealChain, type AuditSealChainReport } from "./auditSealChain.ts";
import { PermittedErasures } from "./permittedErasures.ts";
import { RevisionGaps } from "./revisionGaps.ts";
import { SealMatcher } from "./sealMatcher.ts";
import { unknownEvent } from "./unknownEventTypes.ts";

export interface VerifyLogOptions {
  readonly store: EventStore;
  readonly databases: ReadDatabases;
  /** A file that is made, used and removed: what memory could not hold. */
  readonly temporaryPath: string;
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
  readonly chain: AuditSealChainReport;
  /** Events that no seal covers yet. */
  readonly uncovered: number;
  readonly findings: number;
  /** How many of each kind, the most first. */
  readonly kinds: readonly { readonly kind: FindingKind; readonly count: number }[];
  /** The first of them. */
  readonly shown: readonly Finding[];
  /** Streams whose end was compared with the log. */
  readonly streams: number;
}

/** After so many events, or ends of streams, what they have left in memory is collected. */
const COLLECT_EVERY = 8_000;
/** Streams whose end is asked for at once. */
const STREAMS_ASKED_MAX = 64;
/** A whole look at a store's own files may take so long. */
const FAULTS_TIMEOUT_MS = 10 * MINUTE_MS;
const NO_LEAF = "";
/** Findings that are reported one by one; all are counted. */
const FINDINGS_SHOWN_MAX = 100;

/**
 * Looks at how the store keeps the log, reads the log once from its start, and compares it with its seals: finds what
 * was changed, removed, inserted or moved among the events that they cover, revisions that are missing anywhere,
 * streams that end elsewhere than the log says, events that Postledger does not write, and erasures without a reason.
 * Works beside a running service; memory does not grow with the log. Throws `StoreError`, or the signal's reason.
 */
export async function verifyLog(options: VerifyLogOptions): Promise<LogVerification> {
  const db = options.databases.open(options.temporaryPath, "build");
  try {
    return await walk(options, db);
  } finally {
    db.close();
    options.databases.remove(options.temporaryPath);
  }
}

async function walk(options: VerifyLogOptions, db: ReadDatabaseFile): Promise<LogVerification> {
  const check = new LogCheck(db, options.trusted, options.kept);
  const faults = await options.store.faults("whole", { timeoutMs: FAULTS_TIMEOUT_MS });
  check.takeFaults(faults);
  const read = { events: 0, streams: 0, lastSeal: null as number | null };
  try {
    Object.assign(read, await readAgainst(options, db, check));
  } catch (error) {
    // Where it is known to be tampered with, what was found until then is worth more than the failure.
    if (!(error instanceof StoreError) || faults.length === 0) throw error;
    db.rollback();
    check.takeFaults([unreadable(error)]);
  }
  const { events, streams, lastSeal } = read;
  return { events, streams, ...check.finish(lastSeal) };
}

function unreadable({ message }: StoreError): StoreFault {
  const detail = `it cannot be read to its end: ${message}`;
  return { kind: "changed", stream: null, revision: null, object: "log", detail };
}

async function readAgainst(options: VerifyLogOptions, db: ReadDatabaseFile, check: LogCheck) {
  const { store, signal } = options;
  // Before the log is read: what is truncated by now was permitted by an event that we will read.
  for await (const page of store.truncations()) {
    signal.throwIfAborted();
    db.begin();
    check.takeTruncations(page);
    db.commit();
  }
  const lastSeal = await store.lastRevision(AUDIT_STREAM);
  const { events, end } = await readThrough(options, db, check);
  const streams = await compareEnds(options, check);
  // What went or came while we read has its reason in an event that may lie after what we have read.
  for await (const batch of store.readAll(end, {})) {
    for (const event of batch.events) check.takeLater(event);
  }
  return { events, streams, lastSeal };
}

/**
 * Collects garbage after every so many of what is counted. Left to itself, the heap grows to several times what is in use,
 * because a walk that never waits gives no occasion to look: 290 MB instead of 140 for 310,000 events.
 */
function garbageCollector(): (count: number) => void {
  let collectedAt = 0;
  return (count) => {
    if (count - collectedAt < COLLECT_EVERY) return;
    collectedAt = count;
    Bun.gc(true);
  };
}

async function readThrough(
  { store, onProgress, signal }: VerifyLogOptions,
  db: ReadDatabaseFile,
  check: LogCheck,
) {
  const head = await store.head();
  const collectGarbage = garbageCollector();
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
    collectGarbage(events);
    end = batch.position;
    onProgress?.({ events, position: batch.position, head });
  }
  return { events, end };
}

/** Asks for the last revision of every stream that came by. Answers how many. */
async function compareEnds({ store, signal }: VerifyLogOptions, check: LogCheck): Promise<number> {
  const collectGarbage = garbageCollector();
  let count = 0;
  for (const page of check.order.lastSeen()) {
    for (let at = 0; at < page.length; at += STREAMS_ASKED_MAX) {
      signal.throwIfAborted();
      const some = page.slice(at, at + STREAMS_ASKED_MAX);
      const ends = await Promise.all(some.map(({ stream }) => store.lastRevision(stream)));
      some.forEach((seen, index) => {
        check.order.compareEnd(seen, ends[index] ?? null);
      });
      count += some.length;
      collectGarbage(count);
    }
  }
  return count;
}

/** Everything that is checked as the log goes by. */
class LogCheck {
  readonly order;
  private readonly findings;
  private readonly erasures;
  private readonly sealed;
  private readonly chain;

  constructor(db: ReadDatabaseFile, trusted: readonly PublicKey[], kept: string | null) {
    this.findings = findingsIn(db);
    this.order = new RevisionGaps(db, this.findings);
    this.sealed = new SealMatcher(db, this.findings, this.order);
    this.chain = new AuditSealChain(this.findings, trusted, kept);
    this.erasures = new PermittedErasures(db);
  }

  takeFaults(faults: readonly StoreFault[]): void {
    for (const fault of faults) this.findings.addFault(fault);
  }

  takeTruncations(page: readonly Truncation[]): void {
    for (const { stream, before } of page) this.order.truncate(stream, before);
  }

  take(event: RecordedEvent): void {
    this.checkKnown(event);
    if (event.stream === AUDIT_STREAM) {
      this.order.see(event);
      const seal = this.chain.take(event, this.leafOf(event));
      if (seal) this.sealed.compare(seal);
    } else if (isLogEvent(event)) this.takeEvent(event);
    else if (event.type === EVENT_ERASED) this.order.seePlaceholder(event);
  }

  /** Takes an event that came while the log was read: only what it permits to be missing, and that it is there. */
  takeLater(event: RecordedEvent): void {
    if (!isLogEvent(event)) return;
    this.order.advance(event);
    this.release(event);
  }

  finish(lastSeal: number | null): Omit<LogVerification, "events" | "streams"> {
    const chain = this.chain.finish(lastSeal);
    const uncovered = this.sealed.finish();
    this.order.finish();
    const { findings } = this;
    return {
      chain,
      uncovered,
      findings: findings.count(),
      kinds: findings.byKind(),
      shown: findings.first(FINDINGS_SHOWN_MAX),
    };
  }

  private checkKnown(event: RecordedEvent): void {
    const { stream, revision } = event;
    const detail = event.type === EVENT_ERASED ? null : unknownEvent(event);
    if (detail !== null) this.findings.add({ kind: "unknown", stream, revision, seal: null, detail });
  }

  private takeEvent(event: RecordedEvent): void {
    const { stream, revision } = event;
    const firstMissing = this.order.see(event);
    const leaf = this.leafOf(event);
    // What has no leaf says nothing of others either.
    const content = firstMissing === 0 && leaf !== NO_LEAF ? contentEventHash(event) : null;
    // Where its content is gone, the acceptance says what the leaf was: it lay right before it.
    if (content !== null) this.sealed.wait({ stream, revision: 0, leaf: content }, false);
    this.sealed.wait({ stream, revision, leaf }, true);
    this.release(event);
  }

  /** The leaf of an event; of one that cannot have been written by us it is none that a seal could name. */
  private leafOf(event: RecordedEvent): string {
    try {
      return eventHash(event);
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error;
      const { stream, revision } = event;
      this.findings.add({ kind: "changed", stream, revision, seal: null, detail: error.reason });
      return NO_LEAF;
    }
  }

  /** Takes from an event what it permits to be missing, and reports an erasure that has no reason in the log. */
  private release(event: RecordedEvent): void {
    const { stream, revision } = event;
    const { below, erased, unfounded } = this.erasures.take(event);
    if (unfounded !== null)
      this.findings.add({ kind: "unfounded", stream, revision, seal: null, detail: unfounded });
    if (below > 0) this.order.release(stream, below);
    if (erased.length === 0) return;
    for (const one of erased) this.sealed.carry({ stream, ...one });
    let released = this.order.released(stream);
    while (this.sealed.isCarried(stream, released)) released += 1;
    this.order.release(stream, released);
  }
}
