import type { InFlightMap } from "../../../kernel/shortLivedCollections.ts";
import type { SendOutcome } from "./sendOutcome.ts";

interface SendFlight {
  /** Equal for requests with the same content. */
  readonly fingerprint: string;
  readonly outcome: Promise<SendOutcome>;
}

/** The sends in flight on this instance, by message id; bounded by the requests in flight. */
export type SendsInFlight = InFlightMap<SendFlight>;

/**
 * The outcome of a request while another one with its key is in flight. With the same content they share one send: they
 * count once against the limits and get one answer. With different content it is a conflict, or null if the other one
 * was not accepted: then the first waiter tries.
 */
export async function sharedOutcome(other: SendFlight, fingerprint: string): Promise<SendOutcome | null> {
  if (other.fingerprint === fingerprint) {
    const outcome = await other.outcome;
    return outcome.kind === "accepted" ? { ...outcome, replayed: true } : outcome;
  }
  const end = await other.outcome.catch(() => null);
  return end?.kind === "accepted" ? { kind: "conflict", id: end.receipt.id } : null;
}

/** Waits until the message's send in flight, if any, has ended one way or the other. */
export async function whenSendEnds(flights: SendsInFlight, id: string): Promise<void> {
  await flights.get(id)?.outcome.catch(() => {});
}
