import { AUDIT_STREAM, auditCodec, type Seal } from "../../../domain/audit/events.ts";
import { type SealedEvent, sealedEventsOf, signerOf } from "../../../domain/audit/seal.ts";
import { readableEvent } from "../../../kernel/event/eventCodec.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";
import type { FindingKind, Findings } from "./auditFindings.ts";

/** Up to this many missing seals in a row are reported one by one; more are reported as one finding. */
const MISSING_REPORTED_MAX = 1_000;

/** A seal whose events can be compared. */
export interface ReadSeal {
  readonly revision: number;
  readonly sealed: readonly SealedEvent[];
  /** Whether the seal before it is there and sound, so what this one covers begins where that one ended. */
  readonly isNext: boolean;
}

/** What the walk along the chain has found. */
export interface AuditSealChainReport {
  readonly seals: number;
  readonly signed: number;
  /** The time of the first seal signed by a required key, or by any key if none is required; null without one. */
  readonly signedSince: string | null;
  /** How many events all seals cover, by the count in the last one. */
  readonly covered: number;
  /** The time of the last seal; null if there is none. */
  readonly lastAt: string | null;
  /** The event hash of the last seal; null if there is none. */
  readonly lastHash: string | null;
  /** The keys that signed, each once. */
  readonly publicKeys: readonly string[];
}

/** Walks the chain of seals: each must be there, name the hash of the one before, and be signed by a required key. */
export class AuditSealChain {
  private next = 0;
  private lastHash: string | null = null;
  private lastAt: string | null = null;
  /** Events covered so far; null after a seal that could not be read. */
  private covered: number | null = 0;
  private coveredReported = 0;
  private seals = 0;
  private signed = 0;
  private signedSince: string | null = null;
  private readonly signers = new Set<string>();
  private isKeptSeen = false;

  /** `trusted`: the keys that have to sign; none: any key will do. `kept`: the hash of a seal that has to be there. */
  constructor(
    private readonly findings: Findings,
    private readonly trusted: readonly string[],
    private readonly kept: string | null,
  ) {}

  /** Takes the next event of the stream of seals and its hash. Null if it holds nothing to compare with. */
  take(event: RecordedEvent, leaf: string): ReadSeal | null {
    const { revision } = event;
    if (revision < this.next) {
      this.report("inserted", revision, "there is already a seal with that revision");
      return null;
    }
    const isGap = revision > this.next;
    this.reportMissing(revision - 1);
    const seal = readableEvent(auditCodec, event)?.data ?? null;
    const sealed = seal && sealedEventsOf(seal);
    const isNext = !isGap && this.covered !== null;
    if (seal) this.check(seal, revision, isGap);
    if (!seal || !sealed) this.report("changed", revision, "the seal is damaged");
    this.seals += 1;
    this.next = revision + 1;
    this.lastHash = leaf;
    this.isKeptSeen ||= this.lastHash === this.kept;
    this.covered = (sealed && seal?.covered) ?? null;
    return sealed && { revision, sealed, isNext };
  }

  /** Reports seals that are missing at the end. `lastRevision`: the last revision of the stream, by the store. */
  finish(lastRevision: number | null): AuditSealChainReport {
    this.reportMissing(lastRevision ?? -1);
    const last = Math.max(0, this.next - 1);
    const unsigned = this.seals === 0 ? "there is no seal" : "no seal is signed by the key given";
    if (this.trusted.length > 0 && this.signed === 0) this.report("unsigned", last, unsigned);
    if (this.kept !== null && !this.isKeptSeen)
      this.report("removed", last, "the seal that was kept is not in the chain");
    const { seals, signed, signedSince, coveredReported: covered, lastAt, lastHash } = this;
    return { seals, signed, signedSince, covered, lastAt, lastHash, publicKeys: [...this.signers] };
  }

  private check(seal: Seal, revision: number, isGap: boolean): void {
    const other = `the seal is not the one that seal ${revision} names as the previous one`;
    if (!isGap && seal.previous !== this.lastHash) this.report("changed", Math.max(0, revision - 1), other);
    if (!isGap && this.covered !== null && seal.covered !== this.covered + seal.order.length)
      this.report("changed", revision, "the seal's count of covered events is wrong");
    this.checkSignature(seal, revision);
    this.coveredReported = seal.covered;
    this.lastAt = seal.at;
  }

  /**
   * The first seal signed by a required key covers those before it, unsigned or signed by other keys. Every seal after it
   * must be signed by one too.
   */
  private checkSignature(seal: Seal, revision: number): void {
    const signer = signerOf(seal);
    const isTrusted = signer !== null && (this.trusted.length === 0 || this.trusted.includes(signer));
    if (signer === "wrong") this.report("unsigned", revision, "the seal's signature does not match its key");
    else if (signer !== null && isTrusted) {
      this.signed += 1;
      this.signedSince ??= seal.at;
      this.signers.add(signer);
    } else if (this.trusted.length > 0 && this.signed > 0) {
      const detail =
        signer === null
          ? "the seal is not signed, and seals before it are"
          : `the seal is signed by another key, ${signer}`;
      this.report("unsigned", revision, detail);
    }
  }

  /** Bounded, because a forged revision could make any number of seals seem to be missing. */
  private reportMissing(last: number): void {
    const isMany = last - this.next >= MISSING_REPORTED_MAX;
    const detail = `the seal is missing${isMany ? `; so are the ones up to ${last}` : ""}`;
    for (let revision = this.next; revision <= (isMany ? this.next : last); revision += 1)
      this.report("removed", revision, detail);
  }

  private report(kind: FindingKind, revision: number, detail: string): void {
    this.findings.add({ kind, stream: AUDIT_STREAM, revision, seal: revision, detail });
  }
}
