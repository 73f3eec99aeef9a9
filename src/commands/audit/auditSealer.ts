import { AUDIT_STREAM, auditCodec, type Seal } from "../../domain/audit/events.ts";
import {
  type ChainEnd,
  NO_SEAL,
  nameOfSealed,
  SEAL_EVENTS_MAX,
  type SealedEvent,
  sealedEventsOf,
  sealOf,
} from "../../domain/audit/seal.ts";
import { INSTANCE_STREAM, instanceCodec } from "../../domain/instance/events.ts";
import { invariant } from "../../kernel/assert.ts";
import type { SigningKey } from "../../kernel/crypto/auditSigningKey.ts";
import { encodeData, UnreadableEventError } from "../../kernel/event/eventCodec.ts";
import { contentEventHash, eventHash } from "../../kernel/event/eventHash.ts";
import { LOG_FORMAT_RAISED } from "../../kernel/event/logFormat.ts";
import { newRequestId } from "../../kernel/ids.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  type EventStore,
  LOG_START,
  type LogView,
  locationOfFault,
  type Position,
  type RecordedEvent,
  type StoreFault,
} from "../../ports/eventStore.ts";
import { formatTrouble } from "../instance/requireLogFormat.ts";
import { isPortableEvent } from "../log/isPortableEvent.ts";
import { toNewEvents } from "../transact.ts";

interface AuditSealerOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  /** Null: seals are not signed. */
  readonly signingKey: SigningKey | null;
  /** Whether an unsigned seal may follow a signed one. Verification with the public key reports it for good. */
  readonly mayStopSigning?: boolean;
  /** Names this sealer in the seals' metadata. */
  readonly actor: string;
}

/** An event that the next seal will name. */
interface UnsealedEvent extends SealedEvent {
  /** Its own time, as it stands in its metadata. */
  readonly at: string;
}

type OnBatch = (position: Position, lastEvent: RecordedEvent | undefined) => Promise<void>;

/** Where to continue reading after a seal. `named`: events after that position that are already sealed. */
interface Resumption {
  readonly end: ChainEnd;
  readonly position: Position;
  readonly named: Set<string>;
}

/** Somebody has tampered with the store of the log, so we do not seal it. */
export class TamperedLogError extends Error {
  override readonly name = "TamperedLogError";
  constructor(faults: readonly StoreFault[]) {
    const faultText = faults.map((fault) => `${locationOfFault(fault)}: ${fault.detail}`);
    super(`the log is not sealed, because it is not as it was written: ${faultText.join("; ")}`);
  }
}

/** The last seal is signed, and this process has no key: its seal would look like a forged one for good. */
export class SigningKeyMissingError extends Error {
  override readonly name = "SigningKeyMissingError";
  constructor() {
    super("the last seal is signed, and AUDIT_SIGNING_KEY (or AUDIT_SIGNING_KEY_FILE) is not set");
  }
}

/**
 * Seals the log. It reads on from its last position, and keeps in memory only the events that the next seal will name. It
 * starts after the last seal, and restarts there if another instance was first. Any number of sealers may work on one
 * log: the expected revision lets one append win, and all of them have read the same events in the same order.
 */
export class AuditSealer {
  private end: ChainEnd = NO_SEAL;
  private position: Position = LOG_START;
  private named = new Set<string>();
  private unsealed: UnsealedEvent[] = [];
  private isResumed = false;

  constructor(private readonly options: AuditSealerOptions) {}

  /** How many events were read but not sealed yet: less than {@link SEAL_EVENTS_MAX} after {@link readOn}. */
  get waiting(): number {
    return this.unsealed.length;
  }

  /** The own time of the first event that is not sealed yet, as it stands in its metadata; null if there is none. */
  get waitingSince(): string | null {
    return this.unsealed[0]?.at ?? null;
  }

  /** The last seal that this sealer knows of. */
  get last(): ChainEnd {
    return this.end;
  }

  /**
   * Reads on to the current head of the log, and seals whenever there is enough for a full seal. Awaits `onBatch` after
   * each batch, with its position and its last event, so the caller can yield to other work. Throws `StoreError`,
   * {@link TamperedLogError}, {@link SigningKeyMissingError}, `UnreadableEventError` where the log
   * goes on in a format that this program does not read.
   */
  async readOn(onBatch: OnBatch): Promise<void> {
    while (!(await this.readToHead(onBatch))) this.isResumed = false;
  }

  /**
   * Appends a seal of the waiting events, if there are any. False if another instance has sealed meanwhile. Throws
   * {@link TamperedLogError} if somebody has tampered with the log, because a seal would confirm that.
   */
  async seal(): Promise<boolean> {
    if (this.unsealed.length === 0) return true;
    await this.requireSound();
    const { store, clock, signingKey, actor } = this.options;
    const batch = this.unsealed.slice(0, SEAL_EVENTS_MAX);
    const at = clock.now();
    const data = sealOf(this.end, batch, at, signingKey);
    const encoded = encodeData(data);
    const context = { at, correlationId: newRequestId(), actor };
    const [event] = toNewEvents([{ type: "LogSealed", data: encoded }], context);
    invariant(event, "one event in, one event out");
    // Until the outcome is known we do not know where the chain ends.
    this.isResumed = false;
    const result = await store.append(AUDIT_STREAM, [event], this.end.revision ?? "noStream");
    if (result.outcome !== "appended") return false;
    this.unsealed.splice(0, batch.length);
    this.end = endAfter({ ...event, stream: AUDIT_STREAM, revision: result.revision }, data);
    this.isResumed = true;
    return true;
  }

  /** The last seal we know must still be in the chain: somebody who removed it wants us to seal a forgery. */
  private async requireContinued(): Promise<void> {
    const { revision, leaf } = this.end;
    if (revision === null) return;
    const [event] = await this.options.store.read(AUDIT_STREAM, revision, 1);
    if (event?.revision === revision && eventHash(event) === leaf) return;
    const detail = "the seal that this process has seen there is gone, or was replaced";
    throw new TamperedLogError([{ kind: "removed", stream: AUDIT_STREAM, revision, object: null, detail }]);
  }

  /** Looks at the last seal again next time, because somebody else may have sealed by then. */
  private requireSigning(): void {
    const { signingKey, mayStopSigning = false } = this.options;
    if (!this.end.isSigned || signingKey !== null || mayStopSigning) return;
    this.isResumed = false;
    throw new SigningKeyMissingError();
  }

  private async requireSound(): Promise<void> {
    const faults = await this.options.store.faults("quick");
    if (faults.length > 0) throw new TamperedLogError(faults);
  }

  /** False if another instance has sealed what we were reading. */
  private async readToHead(onBatch: OnBatch): Promise<boolean> {
    if (!this.isResumed) await this.resume();
    this.requireSigning();
    // Before more is read: a log that may not be sealed keeps them waiting, and grows.
    if (!(await this.sealFull())) return false;
    for await (const { events, position } of this.options.store.readAll(this.position, {})) {
      if (events.some((event) => this.isNewSeal(event))) return false;
      events.forEach((event, index) => {
        this.take(event, events[index + 1]);
      });
      this.position = position;
      if (!(await this.sealFull())) return false;
      await onBatch(position, events.at(-1));
    }
    return true;
  }

  /** Seals while there is enough for a full seal. False if another instance was first. */
  private async sealFull(): Promise<boolean> {
    while (this.unsealed.length >= SEAL_EVENTS_MAX) if (!(await this.seal())) return false;
    return true;
  }

  private isNewSeal({ stream, revision }: RecordedEvent): boolean {
    return stream === AUDIT_STREAM && revision > (this.end.revision ?? -1);
  }

  private take(event: RecordedEvent, next: RecordedEvent | undefined): void {
    const { stream, revision } = event;
    requireReadableFormat(event);
    if (!isToSeal(event)) return;
    if (this.named.delete(nameOfSealed(event))) return;
    const at = String(event.metadata.at);
    this.unsealed.push({ stream, revision, leaf: hashAsAccepted(event, next), at });
  }

  private async resume(): Promise<void> {
    await this.requireContinued();
    const { end, position, named } = await resumption(this.options.store);
    this.end = end;
    this.position = position;
    this.named = named;
    this.unsealed = [];
    this.isResumed = true;
  }
}

/** A newer version may write streams that this one takes for those of others. */
function requireReadableFormat(event: RecordedEvent): void {
  if (event.type !== LOG_FORMAT_RAISED || event.stream !== INSTANCE_STREAM) return;
  const { type, data } = instanceCodec.decode(event);
  const trouble = type === LOG_FORMAT_RAISED ? formatTrouble(data.format) : null;
  if (trouble !== null) throw new UnreadableEventError(event, trouble);
}

/** Events that are not the log's own are not sealed. What an import's placeholders replace was sealed in its original log. */
function isToSeal(event: RecordedEvent): boolean {
  return event.stream !== AUDIT_STREAM && isPortableEvent(event);
}

/** How many events of the log the seals do not name, whether or not these are genuine. Throws as {@link readLastSeal}. */
export async function countUnsealed(store: EventStore): Promise<number> {
  const { position, named } = await resumption(store);
  let count = 0;
  for await (const { events } of store.readAll(position, {}))
    for (const event of events) if (isToSeal(event) && !named.delete(nameOfSealed(event))) count += 1;
  return count;
}

/**
 * The own time of the log's newest event; null if it has none. A log is read only forwards, so this begins at the last
 * seal, and at the log's start if there is none that can be read. Throws `StoreError`.
 */
export async function newestEventAt(store: LogView): Promise<EpochMs | null> {
  let newest: RecordedEvent | undefined;
  for await (const { events } of store.readAll(await sealedUntil(store), {}))
    newest = events.findLast(isPortableEvent) ?? newest;
  const at = epochMs(String(newest?.metadata.at));
  return Number.isNaN(at) ? null : at;
}

async function sealedUntil(store: LogView): Promise<Position> {
  try {
    return (await resumption(store)).position;
  } catch (error) {
    if (error instanceof UnreadableEventError) return LOG_START;
    throw error;
  }
}

/**
 * The hash of an event. For a message's content it comes from the acceptance right after it, which holds the digest. So
 * content that was changed since is never sealed as if it had been accepted, and long texts are not hashed twice.
 */
function hashAsAccepted(event: RecordedEvent, next: RecordedEvent | undefined): string {
  const isAcceptance = next?.stream === event.stream && next.revision === event.revision + 1;
  return (isAcceptance ? contentEventHash(next) : null) ?? eventHash(event);
}

function endAfter(event: Omit<RecordedEvent, "position">, { covered, signature }: Seal): ChainEnd {
  return { revision: event.revision, leaf: eventHash(event), covered, isSigned: signature !== undefined };
}

/** Reads the last seal without checking it. Throws `StoreError`, `UnreadableEventError`. */
export async function readLastSeal(
  store: LogView,
): Promise<{ readonly seal: Seal; readonly end: ChainEnd } | null> {
  const revision = await store.lastRevision(AUDIT_STREAM);
  return revision === null ? null : readSeal(store, revision);
}

async function readSeal(store: LogView, revision: number) {
  const [event] = await store.read(AUDIT_STREAM, revision, 1);
  if (event?.revision !== revision) return null;
  const { data: seal } = auditCodec.decode(event);
  return { seal, end: endAfter(event, seal) };
}

/**
 * Finds the last sealed event that still exists, and what the seals name after it. The last sealed events may be erased
 * by now, even all of a seal: then the seal before it tells where to continue.
 */
async function resumption(store: LogView): Promise<Resumption> {
  const last = await readLastSeal(store);
  const end = last?.end ?? NO_SEAL;
  const named = new Set<string>();
  for (let revision = end.revision ?? -1; revision >= 0; revision -= 1) {
    const read = revision === end.revision ? last : await readSeal(store, revision);
    const sealed = (read && sealedEventsOf(read.seal)) ?? [];
    for (const one of sealed.toReversed()) {
      const [event] = await store.read(one.stream, one.revision, 1);
      if (event?.revision === one.revision) return { end, position: event.position, named };
      named.add(nameOfSealed(one));
    }
  }
  return { end, position: LOG_START, named };
}
