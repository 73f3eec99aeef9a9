import { type Static, Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

/** A file of a message. Its bytes are in the content store, under the message's own folder. */
const EmailAttachment = Type.Object({
  filename: Type.String(),
  contentType: Type.String(),
  bytes: Type.Integer(),
  sha256: Type.String(),
  /** What the html calls it (RFC 2392); absent for a file that the html does not refer to. */
  contentId: Type.Optional(Type.String()),
  /** The upload that it was linked from; absent for a file that came with the request. */
  uploadId: Type.Optional(Type.String()),
});
export type EmailAttachment = Static<typeof EmailAttachment>;

/** What was sent, from whom and to whom: of a message's events the only one that holds an address. */
export const EmailContent = Type.Object({
  from: Type.String(),
  /** The name that the send gave, or else the sender's display name as it was at acceptance. */
  fromName: Type.Optional(Type.String()),
  to: Type.String(),
  toName: Type.Optional(Type.String()),
  replyTo: Type.Optional(Type.String()),
  replyToName: Type.Optional(Type.String()),
  subject: Type.String(),
  /** The caller's own headers, in the order and spelling that they came in. */
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  html: Type.Optional(Type.String()),
  text: Type.Optional(Type.String()),
  variables: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  ),
  tags: Type.Optional(Type.Array(Type.String())),
  attachments: Type.Optional(Type.Array(EmailAttachment)),
});
export type EmailContent = Static<typeof EmailContent>;

/** Where content is that is too large for an event: in the content store, under the message's own folder. */
const ContentReference = Type.Object({ sha256: Type.String(), bytes: Type.Integer() });

/** What every accepted message carries for good; nothing in it says who wrote to whom. */
const Accepted = {
  workspaceId: Type.String(),
  senderId: Type.String(),
  /** The sender on whose word it was accepted, when that is the address' domain and not the address itself. */
  authorityId: Type.Optional(Type.String()),
  recipientHash: Type.String(),
  /** A test key has sent it: it stays inside, apart from live mail. */
  test: Type.Optional(Type.Literal(true)),
  /** It is delivered by the simulator: of all test mail, and of mail to the simulator's addresses. */
  simulated: Type.Optional(Type.Literal(true)),
  fingerprint: Type.String(),
  acceptedAt: Type.String(),
  /** The event id of revision 0, which also names the message's folder in the content store. */
  contentEventId: Type.String(),
  contentDigest: Type.String(),
  contentBytes: Type.Integer(),
  /** The version of EmailContentStored beside it: from this the leaf of what was erased is made. Absent: 1. */
  contentSchema: Type.Optional(Type.Integer()),
  templateId: Type.Optional(Type.String()),
  templateVersionId: Type.Optional(Type.String()),
  /** The keyed hashes of its tags: what counts and finds them when their names are gone with the content. */
  tagHashes: Type.Optional(Type.Array(Type.String())),
  /** All files together; absent when there are none. */
  attachmentBytes: Type.Optional(Type.Integer()),
  /** The files that came with the request: what the message holds of the storage quota. */
  directBytes: Type.Optional(Type.Integer()),
  /** Until when the files are retained at least. */
  attachmentsUntil: Type.Optional(Type.String()),
  /** The uploads among its files, so that who was sent them is known when the content is gone. */
  uploadIds: Type.Optional(Type.Array(Type.String())),
};

/**
 * What a relay has said. Its words may name a person in any spelling, so they are encrypted with the salt of
 * `EmailContentStored`: they go with the content. `reply` has them in what was recorded before that.
 */
const RelayAnswer = {
  /** Host and port of the relay, where there are several. */
  relay: Type.Optional(Type.String()),
  code: Type.Optional(Type.Integer()),
  /** RFC 3463. */
  enhancedCode: Type.Optional(Type.String()),
  sealedReply: Type.Optional(Type.String()),
  reply: Type.Optional(Type.String()),
};

/**
 * Who says what became of a message after the relay took it: `return_path` (a mail to the address of its envelope),
 * `complaint_address`, `ses`, `postmark`, `api` or `simulator`.
 */
const Source = { source: Type.String() };

/** Why content goes: `retention`, `requested` for one message, or `person` with the request for all of a person. */
const Erasure = { reason: Type.String(), erasureId: Type.Optional(Type.String()) };

const schemas = {
  EmailContentStored: Type.Object({
    /** A uuid. Salts `contentDigest`, so that a digest that outlives the content cannot be guessed at. */
    salt: Type.String(),
    content: Type.Optional(EmailContent),
    reference: Type.Optional(ContentReference),
  }),
  EmailQueued: Type.Object(Accepted),
  /** Stands where EmailQueued would: the message is delivered at `scheduledAt`, and not before. */
  EmailScheduled: Type.Object({ ...Accepted, scheduledAt: Type.String() }),
  /** It is delivered at another time than it was scheduled for. */
  EmailRescheduled: Type.Object({ scheduledAt: Type.String() }),
  /** At acceptance it replaces EmailQueued, with all of its fields; at delivery it ends a claim. */
  EmailSuppressed: Type.Composite([
    Type.Partial(Type.Object(Accepted)),
    Type.Object({ reason: Type.String(), attempt: Type.Optional(Type.Integer()) }),
  ]),
  EmailDeliveryStarted: Type.Object({
    attempt: Type.Integer(),
    worker: Type.String(),
    leaseMs: Type.Integer(),
    transport: Type.String(),
  }),
  EmailSent: Type.Object({
    attempt: Type.Integer(),
    transport: Type.String(),
    /** The codes of the reply; its words, too, in what was recorded before they were encrypted. */
    reply: Type.String(),
    /** What the relay calls the message, where that cannot be anybody's name. */
    relayId: Type.Optional(Type.String()),
    /** Host and port of the relay, where there are several. */
    relay: Type.Optional(Type.String()),
    sealedReply: Type.Optional(Type.String()),
  }),
  EmailDeferred: Type.Object({
    attempt: Type.Integer(),
    reason: Type.String(),
    /** False when the relay or we were at fault: the message has lost nothing but time. */
    attemptBurnt: Type.Boolean(),
    /** True when the relay may have the message all the same: the next attempt may be a repeat. */
    ambiguous: Type.Boolean(),
    nextAttemptAt: Type.String(),
    ...RelayAnswer,
  }),
  EmailBounced: Type.Object({
    attempt: Type.Integer(),
    reason: Type.String(),
    ...RelayAnswer,
    /**
     * The recipient's domain, for usage: nothing else that stays in the log says where mail bounces. Only here,
     * so that no more domains are kept than refused mail, and absent where the operator wants none.
     */
    recipientDomain: Type.Optional(Type.String()),
    /** Who reported it after the relay had taken the message; absent for the relay's own refusal. */
    source: Type.Optional(Type.String()),
  }),
  /** The recipient's server, or a provider, says that the message is in the mailbox. */
  EmailDelivered: Type.Object({ attempt: Type.Integer(), ...Source }),
  /** The recipient has reported the message. `feedbackType` is of RFC 5965: `abuse`. */
  EmailComplained: Type.Object({ attempt: Type.Integer(), feedbackType: Type.String(), ...Source }),
  EmailFailed: Type.Object({
    attempt: Type.Integer(),
    reason: Type.String(),
    ...RelayAnswer,
  }),
  EmailCanceled: Type.Object({}),
  /** The bytes of the files are gone, and what they held of the storage quota is free. */
  EmailAttachmentsExpired: Type.Object({}),
  /** Asked for while a worker is at the message: its content is erased in the append that ends the claim. */
  EmailContentErasureRequested: Type.Object(Erasure),
  /**
   * Nothing shows the content from here on; the log and the content store delete it next. `canceled` when the
   * message waited and was canceled for it.
   */
  EmailContentErased: Type.Object({ ...Erasure, canceled: Type.Optional(Type.Literal(true)) }),
};

/** The case names are the storage format. */
export type EmailEvent = EventOf<typeof schemas>;
export const emailCodec = makeCodec(schemas);

/** The stream of one message. */
export function emailStream(id: string): string {
  return `email-${id}`;
}

/** Revision 0 holds the content, revision 1 the acceptance; truncation removes the first and keeps the second. */
export const ACCEPTANCE_REVISION = 1;

/** The events that move a message's status. */
export const EMAIL_STATUS_EVENTS = [
  "EmailQueued",
  "EmailScheduled",
  "EmailSuppressed",
  "EmailDeliveryStarted",
  "EmailDeferred",
  "EmailSent",
  "EmailDelivered",
  "EmailBounced",
  "EmailComplained",
  "EmailFailed",
  "EmailCanceled",
] as const satisfies readonly EmailEvent["type"][];
