import { AUDIT_STREAM, auditCodec, type Seal } from "../../../domain/audit/events.ts";
import { type SealedEvent, sealedEventsOf, signerOf } from "../../../domain/audit/seal.ts";
import { readableEvent } from "../../../kernel/event/codec.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";
import type { FindingKind, Findings } from "./auditFindings.ts";

/** Missing seals in a row that are reported one by one: more are reported as one. */
const MISSING_REPORTED_MAX = 1_000;

/** A seal whose events can be compared. */
export interface ReadSeal {
  readonly revision: number;
  readonly sealed: readonly SealedEvent[];
  /** The seals before it were all there and sound: so what it covers begins where the one before ended. */
  readonly isNext: boolean;
}

/** What the chain has come to. */
export interface AuditSealChainReport {
  readonly seals: number;
  readonly signed: number;
  /** The time of the first one that is signed by whom it has to be; null when there is none. */
  readonly signedSince: string | null;
  /** Events that all seals cover, as the last one says. */
  readonly covered: number;
  /** The time of the last seal; null when there is none. */
  readonly lastAt: string | null;
  /** The leaf of the last seal; null when there is none. */
  readonly lastHash: string | null;
  /** Who signed, each key once. */
  readonly publicKeys: readonly string[];
}

/** Walks the chain of seals: each is there, says what the one before it was, and is signed by whom it has to be. */
export class AuditSealChain {
  private next = 0;
  private lastHash: string | null = null;
  private lastAt: string | null = null;
  /** Null behind a seal that could not be read. */
  private covered: number | null = 0;
  private coveredReported = 0;
  private seals = 0;
  private signed = 0;
  private signedSince: string | null = null;
  private readonly signers = new Set<string>();
  private isKeptSeen = false;

  /** `trusted`: the keys that have to sign; none: any signature will do. `kept`: the leaf of a seal that has to be there. */
  constructor(
    private readonly findings: Findings,
    private readonly trusted: readonly string[],
    private readonly kept: string | null,
  ) {}

  /** Takes the next event of the stream of seals and its leaf; null when there is nothing in it to compare with. */
  take(event: RecordedEvent, leaf: string): ReadSeal | null {
    const { revision } = event;
    if (revision < this.next) {
      this.report("inserted", revision, "a seal of that revision was there already");
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

  /** Reports what is missing at the end: `lastRevision` is what the store says of the stream. */
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
    const other = `the seal is not the one that seal ${revision} goes on from`;
    if (!isGap && seal.previous !== this.lastHash) this.report("changed", Math.max(0, revision - 1), other);
    if (!isGap && this.covered !== null && seal.covered !== this.covered + seal.order.length)
      this.report("changed", revision, "the seal does not count what it covers");
    this.checkSignature(seal, revision);
    this.coveredReported = seal.covered;
    this.lastAt = seal.at;
  }

  /** Seals from before the first signed one are covered by it; behind it none may be without. */
  private checkSignature(seal: Seal, revision: number): void {
    const signer = signerOf(seal);
    const isTrusted = signer !== null && (this.trusted.length === 0 || this.trusted.includes(signer));
    if (signer === "wrong") this.report("unsigned", revision, "the seal's signature is not that of its key");
    else if (signer !== null && isTrusted) {
      this.signed += 1;
      this.signedSince ??= seal.at;
      this.signers.add(signer);
    } else if (signer !== null)
      this.report("unsigned", revision, `the seal is signed by another key, ${signer}`);
    else if (this.trusted.length > 0 && this.signed > 0) {
      this.report("unsigned", revision, "the seal is not signed, and seals before it are");
    }
  }

  /** Whatever somebody has made of the revisions: as many are reported as can be. */
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
