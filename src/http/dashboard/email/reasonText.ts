import type { EmailReason } from "../../../domain/email/emailReasons.ts";
import type { RESUMED } from "../../../domain/email/state.ts";

/** Why a message is in its state, in words, by the log's names for reasons. */
const REASONS: Readonly<Record<string, string>> = {
  account_suspended: "The relay has suspended the account that the service logs in with.",
  authentication_required: "The relay wants a log-in before it takes mail.",
  content_rejected: "The content was refused, as spam or for what it contains.",
  delivery_expired: "The other side gave up: it could not deliver the message in time.",
  greylisted: "The other side does not know the service yet and asks it to retry later.",
  mailbox_disabled: "The recipient's mailbox is disabled.",
  mailbox_full: "The recipient's mailbox is full.",
  message_too_large: "The message is larger than the other side accepts.",
  no_route: "The recipient's domain takes no mail, or cannot be found.",
  policy_rejected: "The other side refuses mail from this service or this domain.",
  recipient_address_rejected: "The address does not exist.",
  recipient_deferred: "The other side takes no mail for the recipient at the moment.",
  recipient_refused: "The recipient was refused.",
  relay_refused: "The relay refuses to take the message from this service.",
  relay_suppressed: "The relay has the recipient on a list of its own and does not send there.",
  relay_unavailable: "The relay did not take it at that moment.",
  sender_rejected: "The sender's address was refused.",
  throttled: "The other side asks for slower sending.",
  tls_required: "The other side takes mail only over TLS.",
  content_store_unavailable: "The content store did not give out the files or the content of the message.",
  content_unavailable: "The content is no longer where it was kept.",
  expired: "Its delivery took longer than permitted.",
  lease_expired: "The worker with the message disappeared: the relay may have taken it.",
  no_answer_to_final_dot: "The relay did not say whether it took the message: it may have it.",
  out_of_time: "There was not enough time left to hand it over.",
  recipient_suppressed: "The recipient is on the suppression list.",
  relay_unreachable: "The relay could not be reached.",
  resumed: "Somebody made it due at once.",
  sender_unavailable: "The sender was disabled, or its domain is no longer verified.",
  sending_paused: "Sending is paused for the workspace.",
  store_unavailable: "The log did not answer in time.",
  suppressed_since: "The recipient was put on the suppression list in the meantime.",
} satisfies Record<EmailReason | typeof RESUMED, string>;

export const COMPLAINED = "The recipient has reported it as unwanted.";

/** A reason as a sentence; an unknown one is shown by its name. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? `${reason.replaceAll("_", " ")}.`;
}
