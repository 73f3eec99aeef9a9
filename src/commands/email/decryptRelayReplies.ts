import { replyCodes } from "../../domain/email/delivery/encryptRelayReply.ts";
import type { EmailEvent } from "../../domain/email/events.ts";
import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import type { HistoryEvent } from "./emailHistory.ts";

type Opener = Pick<InstanceKeys, "decryptWithSalt">;
type Outcome = Extract<EmailEvent, { type: "EmailSent" | "EmailDeferred" | "EmailBounced" | "EmailFailed" }>;

function isOutcome(event: EmailEvent): event is Outcome {
  return ["EmailSent", "EmailDeferred", "EmailBounced", "EmailFailed"].includes(event.type);
}

/** The words of a reply. Older events have them in plain text. */
function replyOf({ data }: Outcome, keys: Opener, salt: string): string {
  const { reply = "", sealedReply } = data;
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
  if (salt === null) return withReplyCodes(events);
  return withReplies(events, (event) => replyOf(event, keys, salt));
}

/** A message's events with the codes of the relays' replies alone, for whoever must not have their words. */
export function withReplyCodes<Entry extends HistoryEvent>(events: readonly Entry[]): readonly Entry[] {
  return withReplies(events, ({ data: { reply = "" } }) => replyCodes(reply));
}

function withReplies<Entry extends HistoryEvent>(
  events: readonly Entry[],
  shown: (event: Outcome) => string,
): readonly Entry[] {
  return events.map((entry) =>
    isOutcome(entry.event) ? { ...entry, event: withReply(entry.event, shown(entry.event)) } : entry,
  );
}
