import { equalInConstantTime } from "../../kernel/crypto/equalInConstantTime.ts";
import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, HOUR_MS, rfc3339 } from "../../kernel/time.ts";
import type { SenderEvent } from "./events.ts";
import type { SenderState } from "./state.ts";

/** A verification link works for this long. */
export const LINK_LIFETIME_MS = 24 * HOUR_MS;

/** A verification link, as it is issued or as somebody presents it. */
export interface VerificationLink {
  readonly requestId: string;
  readonly secretHash: string;
  readonly now: EpochMs;
}

/** Issues a verification link. A verified sender needs none. */
export function requestVerification(
  state: SenderState,
  { requestId, secretHash, now }: VerificationLink,
): Decision<"requested" | "alreadyVerified" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.verifiedBy !== null) return decided("alreadyVerified");
  const times = { requestedAt: rfc3339(now), expiresAt: rfc3339(now + LINK_LIFETIME_MS) };
  return decided("requested", {
    type: "SenderVerificationRequested",
    data: { requestId, secretHash, ...times },
  });
}

/** The status of a link: `used` once its sender is verified, by whatever means. */
export type LinkStatus = "open" | "used" | "expired" | "unknown";

export function linkStatus(state: SenderState, { requestId, secretHash, now }: VerificationLink): LinkStatus {
  const request = state?.requests.find(({ id }) => id === requestId);
  if (!state || !request || !equalInConstantTime(request.secretHash, secretHash)) return "unknown";
  if (state.verifiedBy !== null) return "used";
  return now < request.expiresAt ? "open" : "expired";
}

/** Verifies a sender by its link, once. */
export function confirmLink(
  state: SenderState,
  link: VerificationLink,
): Decision<"verified" | Exclude<LinkStatus, "open">, SenderEvent> {
  const status = linkStatus(state, link);
  if (status !== "open") return decided(status);
  return decided("verified", { type: "SenderVerified", data: { method: "email" } });
}
