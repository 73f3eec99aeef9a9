import type { AttemptResult } from "./classifyMailOutcome.ts";
import { relayIdOf } from "./relayMessageId.ts";
import { enhancedCode } from "./smtpReplyRules.ts";

/** What the log keeps of a reply: its codes, and its words under a key that is erased with the message's content. */
export interface RecordedReply {
  readonly code?: number;
  readonly enhancedCode?: string;
  readonly sealedReply?: string;
  /** The compiler refuses a result that still has the words in plain text. */
  readonly reply?: never;
}

type Kept<V> = V extends { readonly reply?: string } ? Omit<V, "reply" | "code"> & RecordedReply : V;

/** A result as it is recorded. `relay`: which relay gave it, if there are several. */
export type RecordedAttemptResult = { readonly relay?: string } & (
  | Kept<Exclude<AttemptResult, { readonly kind: "sent" }>>
  | {
      readonly kind: "sent";
      readonly codes: string;
      readonly relayId?: string;
      readonly sealedReply?: string;
    }
);

/** The codes that a reply begins with: the only part of it that can never name anybody. */
export function replyCodes(reply: string): string {
  return /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?/.exec(reply)?.[0].replace("-", " ") ?? "";
}

/** Encrypts the relay's words, because they may name a person in any spelling. `addresses` are those of the message. */
export function encryptRelayReply(
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
