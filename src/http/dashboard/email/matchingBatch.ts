import type { EmailQuery } from "../../../../projections/emails/queries.ts";

const REFUSALS_SHOWN_MAX = 10;
export const OTHER_SENDERS = "the key is bound to other senders";
export const UNREADABLE = "its events are of a later version, or damaged";

/** The messages of a search that one form acts on. */
export interface Batch {
  readonly query: Omit<EmailQuery, "limit">;
  /** The same one twice sends each message once, as when one form is submitted twice. */
  readonly nonce: string;
  /** Where the previous batch ended; null for the first. */
  readonly cursor: string | null;
}

export interface BatchResult {
  readonly done: number;
  readonly skipped: number;
  /** The first of those that were skipped. */
  readonly refusals: readonly Refusal[];
  /** Where the next batch begins; null when nothing is left. */
  readonly nextCursor: string | null;
}

interface Refusal {
  readonly id: string;
  readonly why: string;
}

/** A message that was acted on; `why` says why that was refused, null that it is done. */
export interface Attempt {
  readonly id: string;
  readonly why: string | null;
}

export function batchResult(attempts: readonly Attempt[], nextCursor: string | null): BatchResult {
  const refusals = attempts.flatMap(({ id, why }) => (why === null ? [] : [{ id, why }]));
  return {
    done: attempts.length - refusals.length,
    skipped: refusals.length,
    refusals: refusals.slice(0, REFUSALS_SHOWN_MAX),
    nextCursor,
  };
}
