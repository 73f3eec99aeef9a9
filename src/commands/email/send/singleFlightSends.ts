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
 * The outcome of a request while another one with its key is under way. With the same content they share one try: they
 * count once against the limits and get one answer. With different content it is a conflict, or null when the other one
 * was not accepted: then whoever waited first tries.
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
