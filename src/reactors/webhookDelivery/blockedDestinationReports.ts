import { LRUCache } from "lru-cache";
import type { WebhookOutcome } from "../../kernel/outcome/webhookOutcome.ts";

/** The destination of an endpoint that is not called, because its name leads to an address that is not public. */
export interface BlockedDestination {
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly url: string;
}

/** Of more endpoints at once, the one that was reported first may be reported again. */
const ENDPOINTS_MAX = 10_000;

/** Tells once when the destination of an endpoint begins to be blocked. */
export class BlockedDestinationReports {
  private readonly reported = new LRUCache<string, string>({ max: ENDPOINTS_MAX });

  constructor(private readonly onBlocked: (destination: BlockedDestination) => void) {}

  /** Hears what became of each call. */
  note(destination: BlockedDestination, outcome: WebhookOutcome): void {
    const { endpointId, url } = destination;
    if (outcome.kind === "failed" && outcome.reason === "destination_not_public") {
      const isKnown = this.reported.get(endpointId) === url;
      this.reported.set(endpointId, url);
      if (!isKnown) this.onBlocked(destination);
    } else if (wasVetted(outcome)) {
      this.reported.delete(endpointId);
    }
  }
}

/** Whether the outcome shows that the call was let through to an address. */
function wasVetted(outcome: WebhookOutcome): boolean {
  if (outcome.kind !== "failed") return outcome.kind === "answered";
  return outcome.reason !== "dns" && outcome.reason !== "interrupted";
}
