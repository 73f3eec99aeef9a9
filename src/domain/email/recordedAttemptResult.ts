import type { AttemptResult } from "./classifyMailOutcome.ts";
import { relayIdOf } from "./relayMessageId.ts";
import { enhancedCode } from "./smtpReplyRules.ts";

/** What stays of a reply in the log: its codes, and its words under a key that goes with the message's content. */
export interface RecordedReply {
  readonly code?: number;
  readonly enhancedCode?: string;
  readonly sealedReply?: string;
  /** No result that still has the words is taken for one that has not. */
  readonly reply?: never;
}

type Kept<V> = V extends { readonly reply?: string } ? Omit<V, "reply" | "code"> & RecordedReply : V;

/** A result as it is recorded. `relay`: which one it is of, where there are several. */
export type RecordedAttemptResult = { readonly relay?: string } & (
  | Kept<Exclude<AttemptResult, { readonly kind: "sent" }>>
  | {
      readonly kind: "sent";
      readonly codes: string;
      readonly relayId?: string;
      readonly sealedReply?: string;
    }
);

/** The codes that a reply begins with: all of it that can never name anybody. */
export function replyCodes(reply: string): string {
  return /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?/.exec(reply)?.[0].replace("-", " ") ?? "";
}

/**
 * A result without the relay's words, which may name a person in any spelling: those are encrypted. `addresses` are the
 * message's.
 */
export function toRecordedAttemptResult(
  result: AttemptResult,
  encrypt: (text: string) => string,
  addresses: readonly string[],
): RecordedAttemptResult {
  const { reply, ...facts } = result;
  if (reply === undefined || reply === "") return facts.kind === "sent" ? { ...facts, codes: "" } : facts;
  const sealedReply = encrypt(reply);
  if (facts.kind === "sent") {
    const relayId = relayIdOf(reply, addresses);
    return { kind: "sent", codes: replyCodes(reply), sealedReply, ...(relayId ? { relayId } : {}) };
  }
  const enhanced = facts.code === undefined ? "" : enhancedCode(reply);
  return { ...facts, sealedReply, ...(enhanced === "" ? {} : { enhancedCode: enhanced }) };
}
