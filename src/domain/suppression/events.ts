import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";
import { ErasedEvents } from "../../kernel/event/erasedEventHashes.ts";

/** Why an address gets no mail. */
export const SUPPRESSION_REASONS = ["bounce", "complaint", "manual"] as const;

const schemas = {
  /**
   * The address itself, and what a person wrote about it, in an event of its own, so that truncation can take it
   * away and leave the rest.
   */
  SuppressionAddressStored: Type.Object({
    address: Type.String(),
    note: Type.Optional(Type.String()),
    /** A uuid. What webhook endpoints answer about this suppression is encrypted with it. */
    salt: Type.Optional(Type.String()),
  }),
  RecipientSuppressed: Type.Object({
    workspaceId: Type.String(),
    recipientHash: Type.String(),
    /** One of {@link SUPPRESSION_REASONS}. */
    reason: Type.String(),
    /** The message whose bounce or complaint led to it. */
    emailId: Type.Optional(Type.String()),
    /** Why it bounced. */
    bounceReason: Type.Optional(Type.String()),
    code: Type.Optional(Type.Integer()),
    enhancedCode: Type.Optional(Type.String()),
    /** What the relay said, encrypted with the salt of the message's `EmailContentStored`. */
    sealedReply: Type.Optional(Type.String()),
    /** The same, in what was recorded before it was encrypted. */
    reply: Type.Optional(Type.String()),
  }),
  RecipientUnsuppressed: Type.Object({ workspaceId: Type.String(), recipientHash: Type.String() }),
  /** The events up to the last address are cut off; whether the recipient is suppressed stays as it is. */
  SuppressionAddressErased: Type.Object({
    workspaceId: Type.String(),
    recipientHash: Type.String(),
    /** Whether earlier suppressions of the same recipient go with it, which subscribers know of. */
    cutsHistory: Type.Boolean(),
    erasureId: Type.String(),
    erased: ErasedEvents,
  }),
};

/** The case names are the storage format. */
export type SuppressionEvent = EventOf<typeof schemas>;
export const suppressionCodec = makeCodec(schemas);

/** `recipientHash` is the keyed hash of workspace and canonical address. */
export function suppressionStream(recipientHash: string): string {
  return `suppression-${recipientHash}`;
}
