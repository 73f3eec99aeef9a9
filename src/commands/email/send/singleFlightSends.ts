import type { InFlightMap } from "../../../kernel/inFlightCollections.ts";
import type { SendOutcome } from "./sendOutcome.ts";

/** A send under way, and what it will end with. */
interface SendFlight {
  /** Equal for requests that ask for the same. */
  readonly fingerprint: string;
  readonly outcome: Promise<SendOutcome>;
}

/** The sends under way on this instance, by the id of their message: as many as there are requests. */
export type SingleFlightSends = InFlightMap<SendFlight>;

/**
 * What a request comes to because of another with its key that is under way: with the same content they share one
 * try, so that they count once against the limits and get one answer. Null when that had other content and was not
 * accepted: then it is the turn of whoever waited first.
 */
export async function sharedOutcome(other: SendFlight, fingerprint: string): Promise<SendOutcome | null> {
  if (other.fingerprint === fingerprint) {
    const outcome = await other.outcome;
    return outcome.kind === "accepted" ? { ...outcome, replayed: true } : outcome;
  }
  const end = await other.outcome.catch(() => null);
  return end?.kind === "accepted" ? { kind: "conflict", id: end.receipt.id } : null;
}

/** Waits for the send of this message that is under way, however it ends. */
export async function whenSendEnds(flights: SingleFlightSends, id: string): Promise<void> {
  await flights.get(id)?.outcome.catch(() => {});
}
