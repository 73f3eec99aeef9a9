import { type Static, Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

/** A file of a message. Its bytes are in the content store, in the message's own folder. */
const EmailAttachment = Type.Object({
  filename: Type.String(),
  contentType: Type.String(),
  bytes: Type.Integer(),
  sha256: Type.String(),
  /** The id by which the html refers to it (RFC 2392); absent if the html does not. */
  contentId: Type.Optional(Type.String()),
  /** The upload that it was linked from; absent for a file that came with the request. */
  uploadId: Type.Optional(Type.String()),
});

/** What was sent, from whom and to whom. Nothing else in a message's events holds an address. */
export const EmailContent = Type.Object({
  from: Type.String(),
  /** The name in the send, or else the sender's display name at acceptance. */
  fromName: Type.Optional(Type.String()),
  to: Type.String(),
  toName: Type.Optional(Type.String()),
  replyTo: Type.Optional(Type.String()),
  replyToName: Type.Optional(Type.String()),
  subject: Type.String(),
  /** The caller's own headers, in their original order and spelling. */
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

/** Content with longer JSON than this goes to the content store: one append is at most 1 MiB. */
export const IN_EVENT_CONTENT_BYTES_MAX = 512 * 1_024;

/** Content too large for an event: it is in the content store, in the message's own folder. */
const ContentReference = Type.Object({ sha256: Type.String(), bytes: Type.Integer() });

/** The `contentRetention` of a message whose content is erased as soon as it has ended. */
export const UNTIL_FINAL_STATUS = "until_final_status" as const;

/** What every accepted message keeps for good. Nothing in it says who wrote to whom. */
const Accepted = Type.Object({
  workspaceId: Type.String(),
  senderId: Type.String(),
  /** The domain that authorized it; absent if the sender's address itself did. */
  authorityId: Type.Optional(Type.String()),
  recipientHash: Type.String(),
  /** A test key sent it: it never leaves, and is kept apart from live mail. */
  test: Type.Optional(Type.Literal(true)),
  /** The simulator delivers it: all test mail, and mail to the simulator's addresses. */
  simulated: Type.Optional(Type.Literal(true)),
  fingerprint: Type.String(),
  acceptedAt: Type.String(),
  /** The event id of revision 0, which also names the message's folder in the content store. */
  contentEventId: Type.String(),
  contentDigest: Type.String(),
  contentBytes: Type.Integer(),
  /** The version of its EmailContentStored: the event hash of an erased one is computed with it. Absent: 1. */
  contentSchema: Type.Optional(Type.Integer()),
  templateId: Type.Optional(Type.String()),
  templateVersionId: Type.Optional(Type.String()),
  /** The keyed hashes of its tags: they can be counted and found even after the content is erased. */
  tagHashes: Type.Optional(Type.Array(Type.String())),
  /** The keyed hashes of its metadata's first pairs: they find it until the content is erased. Absent without metadata. */
  metadataHashes: Type.Optional(Type.Array(Type.String())),
  /** The size of all files; absent without files. */
  attachmentBytes: Type.Optional(Type.Integer()),
  /** The size of the files that came with the request, which count against the storage quota. */
  directBytes: Type.Optional(Type.Integer()),
  /** The files are retained at least until then. */
  attachmentsUntil: Type.Optional(Type.String()),
  /** The uploads among its files: they still show who was sent which when the content is gone. */
  uploadIds: Type.Optional(Type.Array(Type.String())),
  /** No attempt to deliver it begins from then on. */
  deliverBefore: Type.Optional(Type.String()),
  /** How long its sender wants the content kept: {@link UNTIL_FINAL_STATUS}; absent: as long as the workspace keeps it. */
  contentRetention: Type.Optional(Type.String()),
  /** The message whose content it is, if that was sent again. */
  againOf: Type.Optional(Type.String()),
});
/** What every accepted message keeps. */
export type Acceptance = Static<typeof Accepted>;

/**
 * A relay's reply. Its words may name a person in any spelling, so `sealedReply` has them encrypted with the salt of
 * `EmailContentStored`: they are erased with the content. Older events have them in `reply`.
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
 * Set on an outcome that came late and did not decide the message's status, because the message had ended or the lease
 * of the attempt had expired: endpoints do not receive it. Outcomes from before this member never have it.
 */
const Superseded = { superseded: Type.Optional(Type.Literal(true)) };

/** Who reports on a message after the relay accepted it: one of `FEEDBACK_SOURCES` in `feedback/feedbackDecision`. */
const Source = { source: Type.String() };

/**
 * Why content is erased: `retention`, `requested` for one message, `final_status` as its send asked for, or `person` with
 * the id of the person's request.
 */
const Erasure = { reason: Type.String(), erasureId: Type.Optional(Type.String()) };

/** The source of an EmailSent that rests on the operator's word: the attempt that sent it is in no event of the log. */
export const OPERATOR = "operator";

const schemas = {
  EmailContentStored: Type.Object({
    /** A UUID that salts `contentDigest`, so nobody can test guesses of erased content against its digest. */
    salt: Type.String(),
    content: Type.Optional(EmailContent),
    reference: Type.Optional(ContentReference),
  }),
  EmailQueued: Accepted,
  /** Takes the place of EmailQueued: the message is delivered at `scheduledAt`, and not before. */
  EmailScheduled: Type.Object({ ...Accepted.properties, scheduledAt: Type.String() }),
  /** The scheduled message was moved to another time. */
  EmailRescheduled: Type.Object({ scheduledAt: Type.String() }),
  /** At acceptance it replaces EmailQueued, with all of its fields; at delivery it ends a claim: see {@link isAcceptance}. */
  EmailSuppressed: Type.Composite([
    Type.Partial(Accepted),
    Type.Object({ reason: Type.String(), attempt: Type.Optional(Type.Integer()) }),
  ]),
  EmailDeliveryStarted: Type.Object({
    attempt: Type.Integer(),
    worker: Type.String(),
    leaseMs: Type.Integer(),
    transport: Type.String(),
  }),
  EmailSent: Type.Object({
    /** 0 when no attempt in the log is known to have sent it. */
    attempt: Type.Integer(),
    /** `unknown` if nobody can say. */
    transport: Type.String(),
    /** The codes of the reply. Events from before replies were encrypted also have its words. "" if it is not known. */
    reply: Type.String(),
    /** `operator`: on the operator's word, who knows it from elsewhere. Absent: an attempt of a worker of ours. */
    source: Type.Optional(Type.Literal(OPERATOR)),
    /** The relay's id of the message, if it cannot be anybody's name. */
    relayId: Type.Optional(Type.String()),
    /** Host and port of the relay, where there are several. */
    relay: Type.Optional(Type.String()),
    sealedReply: Type.Optional(Type.String()),
    ...Superseded,
  }),
  EmailDeferred: Type.Object({
    attempt: Type.Integer(),
    reason: Type.String(),
    /** False if the relay or we were at fault: the message has lost nothing but time. */
    attemptBurnt: Type.Boolean(),
    /** True if the relay may have the message anyway: the next attempt may be a duplicate. */
    ambiguous: Type.Boolean(),
    nextAttemptAt: Type.String(),
    ...RelayAnswer,
    ...Superseded,
  }),
  EmailBounced: Type.Object({
    attempt: Type.Integer(),
    reason: Type.String(),
    ...RelayAnswer,
    ...Superseded,
    /**
     * The recipient's domain, for usage: nothing else that stays in the log says where mail bounces. Only bounces
     * keep it, and only if the operator allows it.
     */
    recipientDomain: Type.Optional(Type.String()),
    /** Who reported it after the relay accepted the message; absent for the relay's own refusal. */
    source: Type.Optional(Type.String()),
  }),
  /** The recipient's server, or a provider, says that the message is in the mailbox. */
  EmailDelivered: Type.Object({ attempt: Type.Integer(), ...Source }),
  /** The recipient complained about the message. `feedbackType` is one of RFC 5965, such as `abuse`. */
  EmailComplained: Type.Object({ attempt: Type.Integer(), feedbackType: Type.String(), ...Source }),
  EmailFailed: Type.Object({
    attempt: Type.Integer(),
    reason: Type.String(),
    ...RelayAnswer,
    ...Superseded,
  }),
  EmailCanceled: Type.Object({}),
  /** The bytes of the files are gone, and their storage quota is free again. */
  EmailAttachmentsExpired: Type.Object({}),
  /** Requested while a worker has claimed the message: the append that ends the claim erases the content. */
  EmailContentErasureRequested: Type.Object(Erasure),
  /**
   * Nothing shows the content from here on; the log and the content store delete it next. `canceled`: the message was
   * waiting, and was canceled for this.
   */
  EmailContentErased: Type.Object({ ...Erasure, canceled: Type.Optional(Type.Literal(true)) }),
};

/** The names of the types are the storage format. */
export type EmailEvent = EventOf<typeof schemas>;
export const emailCodec = createCodec(schemas);

export function emailStream(id: string): string {
  return `email-${id}`;
}

/** Revision 0 holds the content, revision 1 the acceptance; truncation removes the first and keeps the second. */
export const ACCEPTANCE_REVISION = 1;

/** The events that accept a message, and the status that each gives it. One suppressed at acceptance ends at once. */
export const ACCEPTED_AS = {
  EmailQueued: "queued",
  EmailScheduled: "scheduled",
  EmailSuppressed: "suppressed",
} as const;

/** The status of a message right after its acceptance. */
export type AcceptedAs = (typeof ACCEPTED_AS)[keyof typeof ACCEPTED_AS];

/** An event that accepts a message. */
export type AcceptanceEvent = Extract<EmailEvent, { type: keyof typeof ACCEPTED_AS }> & {
  readonly data: Acceptance;
};

/** Whether an event accepts a message. An EmailSuppressed at delivery does not: it has nothing of an acceptance. */
export function isAcceptance(event: EmailEvent): event is AcceptanceEvent {
  if (event.type !== "EmailSuppressed") return event.type in ACCEPTED_AS;
  return Accepted.required.every((name) => name in event.data);
}

/**
 * The reasons of an EmailBounced by which the address will never accept mail: a hard bounce. The read model `emails`
 * counts by them, so another list needs a new version of it.
 */
export const HARD_BOUNCE_REASONS: readonly string[] = ["mailbox_disabled", "recipient_address_rejected"];

export const EMAIL_ENDS = [
  "EmailSent",
  "EmailDelivered",
  "EmailBounced",
  "EmailComplained",
  "EmailFailed",
  "EmailSuppressed",
  "EmailCanceled",
] as const satisfies readonly EmailEvent["type"][];

export const EMAIL_STATUS_EVENTS = [
  "EmailQueued",
  "EmailScheduled",
  "EmailDeliveryStarted",
  "EmailDeferred",
  ...EMAIL_ENDS,
] as const satisfies readonly EmailEvent["type"][];
