import type { FeedbackSource } from "../../../domain/email/feedback/feedbackDecision.ts";
import type { FeedbackReport } from "../../../domain/email/feedback/feedbackReport.ts";
import { type ReturnedMail, readReturnedMail } from "../../../domain/email/feedback/readReturnedMail.ts";
import { newRequestId } from "../../../kernel/ids.ts";
import type { ReturnedMailParser } from "../../../ports/mail/returnedMailParser.ts";
import { type InboundAddresses, type ReturnAddress, returnAddress } from "./inboundAddresses.ts";
import { type FeedbackContext, recordEmailFeedback } from "./recordEmailFeedback.ts";

/** Which addresses accept mail, and what reads it. */
export interface ReturnedMailContext extends Omit<FeedbackContext, "keys">, InboundAddresses {
  readonly parser: ReturnedMailParser;
  readonly actor: string;
}

/** What the mail reports about the messages that it refers to; null if nothing. */
function feedbackReportOf(reading: ReturnedMail): FeedbackReport | null {
  switch (reading.kind) {
    case "bounced":
      return reading;
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
 * Reads a mail that came to one or more addresses of {@link returnAddress}, and records what it says. Returns what it
 * was read as, and for how many messages it was recorded. A forged mail can affect only messages whose return paths its
 * author knows. Durable when it returns. Throws `StoreError`.
 */
export async function receiveReturnedMail(
  context: ReturnedMailContext,
  addresses: readonly ReturnAddress[],
  bytes: Uint8Array,
) {
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
