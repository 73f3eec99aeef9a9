import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

/** How a sender was verified: by the operator, the first run, a mail to its mailbox, or a record of its domain. */
const Method = Type.Union([
  Type.Literal("operator"),
  Type.Literal("bootstrap"),
  Type.Literal("email"),
  Type.Literal("dns"),
]);

const schemas = {
  SenderAdded: Type.Object({
    workspaceId: Type.String(),
    address: Type.String(),
    displayName: Type.Optional(Type.String()),
  }),
  /** All addresses at exactly this domain. */
  SenderDomainAdded: Type.Object({
    workspaceId: Type.String(),
    domain: Type.String(),
    displayName: Type.Optional(Type.String()),
  }),
  /** The display name in From was changed; absent: it was removed. */
  SenderRenamed: Type.Object({ displayName: Type.Optional(Type.String()) }),
  SenderVerified: Type.Object({ method: Method }),
  SenderDisabled: Type.Object({}),
  SenderEnabled: Type.Object({}),
  /** A repeated look-up did not find the record by which the domain was verified. */
  SenderRecordMissing: Type.Object({ since: Type.String() }),
  SenderRecordFound: Type.Object({}),
  SenderVerificationRequested: Type.Object({
    requestId: Type.String(),
    /** The SHA-256 of the link's secret: the log does not hold the secret itself. */
    secretHash: Type.String(),
    requestedAt: Type.String(),
    expiresAt: Type.String(),
  }),
  SenderVerificationMailStarted: Type.Object({
    requestId: Type.String(),
    attempt: Type.Integer(),
    worker: Type.String(),
    leaseMs: Type.Integer(),
  }),
  SenderVerificationMailSent: Type.Object({
    requestId: Type.String(),
    attempt: Type.Integer(),
    transport: Type.String(),
  }),
  SenderVerificationMailFailed: Type.Object({
    requestId: Type.String(),
    attempt: Type.Integer(),
    reason: Type.String(),
    code: Type.Optional(Type.Integer()),
    /** Absent if it is not retried. */
    nextAttemptAt: Type.Optional(Type.String()),
  }),
};

/** The names of the types are the storage format. */
export type SenderEvent = EventOf<typeof schemas>;
export const senderCodec = createCodec(schemas);

export type VerificationMethod = Extract<SenderEvent, { type: "SenderVerified" }>["data"]["method"];

/**
 * `id` is the keyed hash of workspace and address, or of workspace and `@domain`, so no index is needed to find a sender.
 */
export function senderStream(id: string): string {
  return `sender-${id}`;
}
