import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

/** On whose word a sender is verified: the operator's, the first run's, the mailbox' or the domain's. */
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
  /** The display name in From was changed; absent: there is none. */
  SenderRenamed: Type.Object({ displayName: Type.Optional(Type.String()) }),
  SenderVerified: Type.Object({ method: Method }),
  SenderDisabled: Type.Object({}),
  SenderEnabled: Type.Object({}),
  /** The record by which a domain was verified was looked for again, and is not there since. */
  SenderRecordMissing: Type.Object({ since: Type.String() }),
  SenderRecordFound: Type.Object({}),
  SenderVerificationRequested: Type.Object({
    requestId: Type.String(),
    /** The SHA-256 of the link's secret: the log does not hold what opens it. */
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
    /** Absent when it is not tried again. */
    nextAttemptAt: Type.Optional(Type.String()),
  }),
};

/** The case names are the storage format. */
export type SenderEvent = EventOf<typeof schemas>;
export const senderCodec = makeCodec(schemas);

export type VerificationMethod = Extract<SenderEvent, { type: "SenderVerified" }>["data"]["method"];

/**
 * `id` is the keyed hash of workspace and address, or of workspace and `@domain`: both find their sender
 * without an index.
 */
export function senderStream(id: string): string {
  return `sender-${id}`;
}
