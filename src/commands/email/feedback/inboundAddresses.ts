import type { InstanceKeys } from "../../../kernel/crypto/instanceKeys.ts";
import { type ReturnPath, readReturnPath } from "../../../kernel/crypto/returnPath.ts";
import { unwrapBatvAndSrs } from "../../../kernel/mail/unwrapBatvAndSrs.ts";
import { domainOf } from "../../../kernel/text/emailAddress.ts";
import type { EpochMs } from "../../../kernel/time.ts";

/** The addresses at which the inbound port accepts mail. */
export interface InboundAddresses {
  readonly keys: InstanceKeys;
  /** The domain of envelope senders, in lower case. */
  readonly domain: string;
  /** The local part registered with providers for complaints, in lower case; null if there is none. */
  readonly complaintLocalPart: string | null;
  readonly now: () => EpochMs;
}

/** RFC 5321 §4.5.1: every server that accepts mail accepts it for this address. */
const POSTMASTER = "postmaster";

export type ReturnAddress =
  | ({ readonly kind: "returnPath" } & ReturnPath)
  | { readonly kind: "complaints" }
  | { readonly kind: "postmaster" };

/**
 * What an address is for, in upper or lower case; null if it accepts no mail. A return path may be wrapped by servers
 * on the way: its HMAC still decides.
 */
export function returnAddress(
  { keys, domain, complaintLocalPart, now }: InboundAddresses,
  address: string,
): ReturnAddress | null {
  const lower = address.toLowerCase();
  // RFC 5321 §4.5.1 also permits it without a domain.
  if (lower === POSTMASTER || lower === `${POSTMASTER}@${domain}`) return { kind: "postmaster" };
  if (complaintLocalPart !== null && lower === `${complaintLocalPart}@${domain}`)
    return { kind: "complaints" };
  const sender = unwrapBatvAndSrs(lower);
  const at = sender.lastIndexOf("@");
  if (at < 0 || domainOf(sender) !== domain) return null;
  const path = readReturnPath(keys, sender.slice(0, at), now());
  return path && { kind: "returnPath", ...path };
}
