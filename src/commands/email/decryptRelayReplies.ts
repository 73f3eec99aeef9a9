import { replyCodes } from "../../domain/email/delivery/encryptRelayReply.ts";
import type { EmailEvent } from "../../domain/email/events.ts";
import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import type { HistoryEvent } from "./emailHistory.ts";

type Opener = Pick<InstanceKeys, "decryptWithSalt">;
type Outcome = Extract<EmailEvent, { type: "EmailSent" | "EmailDeferred" | "EmailBounced" | "EmailFailed" }>;

function isOutcome(event: EmailEvent): event is Outcome {
  return ["EmailSent", "EmailDeferred", "EmailBounced", "EmailFailed"].includes(event.type);
}

/** What is shown of a reply: its words until they are erased, then only its codes. */
function replyOf({ data }: Outcome, keys: Opener, salt: string | null): string {
  const { reply = "", sealedReply } = data;
  if (salt === null) return replyCodes(reply);
  return (sealedReply === undefined ? null : keys.decryptWithSalt(salt, sealedReply)) ?? reply;
}

function withReply(event: Outcome, reply: string): EmailEvent {
  if (event.type === "EmailSent") return { ...event, data: { ...event.data, reply } };
  const { reply: _, ...facts } = event.data;
  return { type: event.type, data: reply === "" ? facts : { ...facts, reply } } as Outcome;
}

/** A message's events with the relays' words in `reply`, until its content is erased. */
export function withReplyTexts<Entry extends HistoryEvent>(
  keys: Opener,
  salt: string | null,
  events: readonly Entry[],
): readonly Entry[] {
  return events.map((entry) => {
    if (!isOutcome(entry.event)) return entry;
    return { ...entry, event: withReply(entry.event, replyOf(entry.event, keys, salt)) };
  });
}
