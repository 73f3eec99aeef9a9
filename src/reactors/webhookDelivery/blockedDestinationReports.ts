import { LRUCache } from "lru-cache";
import type { WebhookOutcome } from "../../kernel/outcome/webhookOutcome.ts";

/** An endpoint that is not called because its host name resolves to an address that is not public. */
export interface BlockedDestination {
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly url: string;
}

/** Beyond this many endpoints, the oldest report is forgotten and may be made again. */
const ENDPOINTS_MAX = 10_000;

/** Reports once when an endpoint's destination becomes blocked. */
export class BlockedDestinationReports {
  private readonly reported = new LRUCache<string, string>({ max: ENDPOINTS_MAX });

  constructor(private readonly onBlocked: (destination: BlockedDestination) => void) {}

  /** Takes the outcome of each call. */
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

/** Whether the outcome proves that the destination was allowed. */
function wasVetted(outcome: WebhookOutcome): boolean {
  if (outcome.kind !== "failed") return outcome.kind === "answered";
  return outcome.reason !== "dns" && outcome.reason !== "interrupted";
}
