import type { Principal } from "../../commands/apiKey/authenticate.ts";
import { withReplyCodes } from "../../commands/email/decryptRelayReplies.ts";
import type { EmailView } from "../../commands/email/readEmail.ts";
import { permits } from "../../domain/apiKey/scopes.ts";
import type { EmailContent } from "../../domain/email/events.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";

type File = NonNullable<EmailContent["attachments"]>[number];

/** What `email:status` shows of a message's content: between whom it goes and what kind of mail it is. */
type Envelope = Pick<
  EmailContent,
  "from" | "fromName" | "to" | "toName" | "replyTo" | "replyToName" | "tags"
>;

/** What is shown of a message's content. What the message says is there only if the key may read it. */
export type ShownContent = Envelope &
  Partial<Omit<EmailContent, keyof Envelope | "attachments">> & {
    readonly attachments?: readonly (Pick<File, "contentType" | "bytes"> & Partial<File>)[];
  };

/** A message as one key may see it. */
export interface ShownEmail extends Omit<EmailView, "content"> {
  /** Null once it is erased. */
  readonly content: ShownContent | null;
  /** Whether the key may read the content, if there still is any. */
  readonly isContentShown: boolean;
}

/** Whether a key may read what messages say, not only what became of them. */
export function mayReadContent({ scopes }: Pick<Principal, "scopes">): boolean {
  return permits(scopes, "email:read");
}

/**
 * A message as this key may see it. Everything that shows a message is made from this. Without `email:read` it lacks the
 * content, and of the relays' replies it has the codes alone: a relay may quote what it refuses.
 */
export function redactEmail(view: EmailView, principal: Pick<Principal, "scopes">): ShownEmail {
  if (mayReadContent(principal)) return { ...view, isContentShown: true };
  const content = view.content === null ? null : envelopeOf(view.content);
  return { ...view, content, events: withReplyCodes(view.events), isContentShown: false };
}

/** Named one by one: a new member of the content is withheld until somebody decides otherwise. */
function envelopeOf({
  from,
  fromName,
  to,
  toName,
  replyTo,
  replyToName,
  tags,
  attachments,
}: EmailContent): ShownContent {
  const files = attachments?.map(({ contentType, bytes }) => ({ contentType, bytes }));
  return omitUndefined({ from, fromName, to, toName, replyTo, replyToName, tags, attachments: files });
}
