import { Type } from "@sinclair/typebox";
import { ErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

/** Why an address gets no mail. */
export const SUPPRESSION_REASONS = ["bounce", "complaint", "manual"] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

const schemas = {
  /**
   * The address itself and the note about it, in an event of their own, so truncation can remove them and leave the
   * rest.
   */
  SuppressionAddressStored: Type.Object({
    address: Type.String(),
    note: Type.Optional(Type.String()),
    /** A UUID. It encrypts what webhook endpoints answer to events of this suppression. */
    salt: Type.Optional(Type.String()),
  }),
  RecipientSuppressed: Type.Object({
    workspaceId: Type.String(),
    recipientHash: Type.String(),
    /** One of {@link SUPPRESSION_REASONS}. */
    reason: Type.String(),
    /** The message whose bounce or complaint led to it. */
    emailId: Type.Optional(Type.String()),
    bounceReason: Type.Optional(Type.String()),
    code: Type.Optional(Type.Integer()),
    enhancedCode: Type.Optional(Type.String()),
    /** The relay's reply, encrypted with the salt of the message's `EmailContentStored`. */
    sealedReply: Type.Optional(Type.String()),
    /** The reply in plain text, in events from before replies were encrypted. */
    reply: Type.Optional(Type.String()),
  }),
  RecipientUnsuppressed: Type.Object({ workspaceId: Type.String(), recipientHash: Type.String() }),
  /** The events up to the last address are truncated; whether the recipient is suppressed does not change. */
  SuppressionAddressErased: Type.Object({
    workspaceId: Type.String(),
    recipientHash: Type.String(),
    /** Whether this also removes earlier suppressions of the recipient, which subscribers may have been told of. */
    cutsHistory: Type.Boolean(),
    erasureId: Type.String(),
    erased: ErasedEvents,
  }),
};

/** The names of the types are the storage format. */
export type SuppressionEvent = EventOf<typeof schemas>;
export const suppressionCodec = createCodec(schemas);

/** `recipientHash` is the keyed hash of workspace and canonical address. */
export function suppressionStream(recipientHash: string): string {
  return `suppression-${recipientHash}`;
}
