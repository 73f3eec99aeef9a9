import { type ReturnedMail, readReturnedMail } from "../../../domain/email/feedback/readReturnedMail.ts";
import type { FeedbackSource } from "../../../domain/email/feedback/recordFeedback.ts";
import type { InstanceKeys } from "../../../kernel/crypto/instanceKeys.ts";
import { type ReturnPath, readReturnPath } from "../../../kernel/crypto/returnPath.ts";
import { newRequestId } from "../../../kernel/ids.ts";
import { domainOf } from "../../../kernel/text/emailAddress.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { ReturnedMailParser } from "../../../ports/mail/returnedMailParser.ts";
import { type FeedbackContext, type FeedbackReport, recordEmailFeedback } from "./recordEmailFeedback.ts";

/** Which addresses accept mail, and what reads it. */
export interface ReturnedMailContext extends FeedbackContext {
  readonly keys: InstanceKeys;
  readonly parser: ReturnedMailParser;
  /** The domain of envelope senders, in lower case. */
  readonly domain: string;
  /** The local part registered with providers for complaints, in lower case; null if there is none. */
  readonly complaintLocalPart: string | null;
  readonly actor: string;
  readonly now: () => EpochMs;
}

/** RFC 5321 §4.5.1: every server that accepts mail accepts it for this address. */
const POSTMASTER = "postmaster";

/** What an address of ours is for. */
export type ReturnAddress =
  | ({ readonly kind: "returnPath" } & ReturnPath)
  | { readonly kind: "complaints" }
  | { readonly kind: "postmaster" };

/** What an address is for, in upper or lower case; null if it accepts no mail. */
export function returnAddress(
  context: Pick<ReturnedMailContext, "keys" | "domain" | "complaintLocalPart" | "now">,
  address: string,
): ReturnAddress | null {
  const lower = address.toLowerCase();
  // RFC 5321 §4.5.1 also permits it without a domain.
  if (lower === POSTMASTER) return { kind: "postmaster" };
  const at = lower.lastIndexOf("@");
  if (at < 0 || domainOf(lower) !== context.domain) return null;
  const localPart = lower.slice(0, at);
  if (localPart === POSTMASTER) return { kind: "postmaster" };
  if (localPart === context.complaintLocalPart) return { kind: "complaints" };
  const path = readReturnPath(context.keys, localPart, context.now());
  return path && { kind: "returnPath", ...path };
}

/** What a returned mail was read as, and for how many messages it was recorded. */
export interface ReturnedMailResult {
  readonly reading: ReturnedMail["kind"];
  readonly recorded: number;
}

/** What the mail reports about the messages that it refers to; null if nothing. */
function feedbackReportOf(reading: ReturnedMail): FeedbackReport | null {
  switch (reading.kind) {
    case "bounced":
      return { kind: "bounced", bounce: reading.bounce, diagnostic: reading.diagnostic };
    case "delivered":
      return { kind: "delivered" };
    case "reported":
      return reading.isComplaint ? { kind: "complained", feedbackType: reading.feedbackType } : null;
    default:
      return null;
  }
}

/** The messages that the mail is about: from the address it came to, or from addresses of ours that a complaint names. */
function messagesOf(
  context: ReturnedMailContext,
  address: ReturnAddress,
  reading: ReturnedMail,
): readonly string[] {
  if (address.kind === "returnPath") return [address.emailId];
  if (reading.kind !== "reported") return [];
  const named = reading.mailFrom.map((from) => returnAddress(context, from));
  return named.flatMap((one) => (one?.kind === "returnPath" ? one.emailId : []));
}

/**
 * Reads a mail that came to one or more addresses of {@link returnAddress}, and records what it says. A forged mail can
 * affect only messages whose return paths its author knows. Durable when it returns. Throws `StoreError`.
 */
export async function receiveReturnedMail(
  context: ReturnedMailContext,
  addresses: readonly ReturnAddress[],
  bytes: Uint8Array,
): Promise<ReturnedMailResult> {
  const parsed = await context.parser.parse(bytes);
  const reading: ReturnedMail = parsed === null ? { kind: "unknown" } : readReturnedMail(parsed);
  const report = feedbackReportOf(reading);
  if (report === null) return { reading: reading.kind, recorded: 0 };
  const sources = new Map<string, FeedbackSource>();
  for (const address of addresses) {
    const source = address.kind === "returnPath" ? "return_path" : "complaint_address";
    for (const id of messagesOf(context, address, reading)) sources.set(id, sources.get(id) ?? source);
  }
  let recorded = 0;
  for (const [id, source] of sources) {
    const origin = {
      source,
      at: context.now(),
      actor: context.actor,
      correlationId: newRequestId(),
    } as const;
    if ((await recordEmailFeedback(context, id, report, origin)) === "recorded") recorded += 1;
  }
  return { reading: reading.kind, recorded };
}
