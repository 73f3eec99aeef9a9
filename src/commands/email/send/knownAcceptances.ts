import type { Acceptance } from "../../../domain/email/idempotency.ts";
import { acceptanceCache } from "./acceptanceCache.ts";

/** The acceptances that this instance knows without reading the log: those it last made or found, and those it lists. */
export interface KnownAcceptances {
  /**
   * The acceptance of the message, which never changes. A miss proves nothing: only the log can tell. One that is only
   * listed is found by the same fingerprint alone, so on a conflict it is the log that decides.
   */
  find(emailId: string, fingerprint: string): Acceptance | null;
  remember(emailId: string, acceptance: Acceptance): void;
}

/** How the message with this id and fingerprint was accepted, if the read model lists it. */
export type ListedAcceptance = (
  emailId: string,
  fingerprint: string,
) => Omit<Acceptance, "fingerprint"> | null;

/** Looks into memory first, then into the list, which spares a failed append to a server. */
export function knownAcceptances(listed: ListedAcceptance): KnownAcceptances {
  const cache = acceptanceCache();
  return {
    find(id, fingerprint) {
      const cached = cache.get(id);
      if (cached !== undefined) return cached;
      const found = listed(id, fingerprint);
      if (found === null) return null;
      const acceptance = { fingerprint, ...found };
      cache.set(id, acceptance);
      return acceptance;
    },
    remember: cache.set,
  };
}
