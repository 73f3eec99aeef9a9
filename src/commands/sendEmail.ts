import {
  ACCEPTANCE_REVISION,
  type EmailContent,
  type EmailEvent,
  emailCodec,
  emailStream,
} from "../domain/email/events.ts";
import { type Email, emailDecider } from "../domain/email/state.ts";
import { canSend } from "../domain/sender/state.ts";
import type { Address } from "../kernel/address.ts";
import { invariant } from "../kernel/assert.ts";
import type { DomainEvent } from "../kernel/decider.ts";
import { emailId } from "../kernel/ids.ts";
import { canonicalJson, type JsonObject } from "../kernel/json.ts";
import type { Occasion } from "../kernel/metadata.ts";
import { rfc3339 } from "../kernel/time.ts";
import { StoreError } from "../ports/eventStore.ts";
import { type SealedContent, sealContent } from "./emailContent.ts";
import type { Services } from "./services.ts";
import { toNewEvents } from "./transact.ts";

/** A request that has passed every check that does not depend on state. */
export interface SendEmail {
  readonly workspaceId: string;
  readonly idempotencyKey: string;
  /** The request as it was sent: what a retry is compared by. */
  readonly request: JsonObject;
  readonly from: Address;
  readonly to: Address;
  readonly content: EmailContent;
  readonly usesTemplate: boolean;
  readonly usesAttachments: boolean;
  readonly occasion: Occasion;
}

/** What the 202 says. */
export interface Receipt {
  readonly id: string;
  readonly status: "queued" | "suppressed";
  readonly acceptedAt: string;
}

export type SendRefusal =
  | "SENDER_UNAVAILABLE"
  | "SENDING_PAUSED"
  | "TEMPLATE_UNAVAILABLE"
  | "ATTACHMENT_TYPE_UNSUPPORTED";

export type SendOutcome =
  | { readonly kind: "accepted"; readonly receipt: Receipt; readonly replayed: boolean }
  | { readonly kind: "conflict" }
  | { readonly kind: "refused"; readonly code: SendRefusal };

/**
 * Accepts one message: one append of its content and its acceptance, expected to begin the stream that the
 * Idempotency-Key names. Whoever comes second reads what the first one wrote: the same request gets the same
 * answer, another one a conflict. Throws `StoreError`; then nothing is known to be accepted.
 */
export async function sendEmail(services: Services, send: SendEmail): Promise<SendOutcome> {
  const id = emailId(send.workspaceId, send.idempotencyKey);
  const fingerprint = services.keys.fingerprint(send.workspaceId, canonicalJson(send.request));
  const senderId = services.keys.hashAddress(send.workspaceId, send.from.canonical);
  const refusal = await refusalOf(services, send, senderId);
  if (refusal !== null) {
    // We look for a replay before a refusal, so a retry of what was accepted is never refused by what happened since.
    return (await replay(services, id, fingerprint)) ?? { kind: "refused", code: refusal };
  }
  if (services.disk.freeBytes() < services.diskFreeBytesMin) {
    const replayed = await replay(services, id, fingerprint);
    if (replayed) return replayed;
    throw new StoreError("unavailable", "the data directory's disk is nearly full");
  }
  const sealed = await sealContent(
    services.content,
    { workspaceId: send.workspaceId, ownerId: id },
    send.content,
  );
  return append(services, send, { id, fingerprint, senderId, sealed });
}

async function refusalOf(services: Services, send: SendEmail, senderId: string): Promise<SendRefusal | null> {
  if (!canSend(await services.senders.get(senderId))) return "SENDER_UNAVAILABLE";
  if ((await services.workspaces.get(send.workspaceId))?.paused) return "SENDING_PAUSED";
  if (send.usesTemplate) return "TEMPLATE_UNAVAILABLE";
  if (send.usesAttachments) return "ATTACHMENT_TYPE_UNSUPPORTED";
  return null;
}

interface Acceptance {
  readonly id: string;
  readonly fingerprint: string;
  readonly senderId: string;
  readonly sealed: SealedContent;
}

async function append(services: Services, send: SendEmail, acceptance: Acceptance): Promise<SendOutcome> {
  const { id, fingerprint, senderId, sealed } = acceptance;
  const { workspaceId, occasion } = send;
  const recipientHash = services.keys.hashAddress(workspaceId, send.to.canonical);
  const suppressed = services.suppressions.isSuppressed(workspaceId, recipientHash);
  const acceptedAt = rfc3339(occasion.at);
  const [stored] = toNewEvents([{ type: "EmailContentStored", data: sealed.event }], occasion);
  invariant(stored, "one event in, one event out");
  const accepted = {
    workspaceId,
    senderId,
    recipientHash,
    fingerprint,
    acceptedAt,
    contentEventId: stored.id,
    contentDigest: sealed.digest,
    contentBytes: sealed.bytes,
  };
  const acceptedEvent: DomainEvent = suppressed
    ? { type: "EmailSuppressed", data: { ...accepted, reason: "recipient_suppressed" } }
    : { type: "EmailQueued", data: accepted };
  const events = [stored, ...toNewEvents([acceptedEvent], occasion)];
  const result = await services.store.append(emailStream(id), events, "noStream");
  if (result.outcome === "appended") {
    if (!suppressed) remember(services, send, { id, accepted, sealed });
    const status = suppressed ? "suppressed" : "queued";
    return { kind: "accepted", receipt: { id, status, acceptedAt }, replayed: false };
  }
  const replayed = await replay(services, id, fingerprint);
  if (replayed) return replayed;
  throw new StoreError("unavailable", "the message that was accepted under this key cannot be read yet");
}

type Accepted = Extract<EmailEvent, { type: "EmailQueued" }>["data"];

/** Keeps what delivery is about to need. */
function remember(
  { recent }: Services,
  { content, occasion }: SendEmail,
  {
    id,
    accepted,
    sealed,
  }: { readonly id: string; readonly accepted: Accepted; readonly sealed: SealedContent },
): void {
  if (recent === null || sealed.salt === null) return;
  const at = rfc3339(occasion.at);
  const stored: EmailEvent = { type: "EmailContentStored", data: { salt: sealed.salt, content } };
  const queued: EmailEvent = { type: "EmailQueued", data: accepted };
  const events = [stored, queued].map((event, sequence) => ({ sequence, at, event }));
  const story = { state: emailDecider.evolve(null, queued), events, revision: ACCEPTANCE_REVISION };
  recent.put(id, story, sealed.bytes);
}

/** The answer to an earlier request with this key; null when there was none. */
async function replay(services: Services, id: string, fingerprint: string): Promise<SendOutcome | null> {
  const email = await readAcceptance(services, id);
  if (email === null) return null;
  if (email.fingerprint !== fingerprint) return { kind: "conflict" };
  const receipt = { id, status: email.acceptedAs, acceptedAt: rfc3339(email.acceptedAt) };
  return { kind: "accepted", receipt, replayed: true };
}

async function readAcceptance(services: Services, id: string): Promise<Email | null> {
  const [event] = await services.store.read(emailStream(id), ACCEPTANCE_REVISION, 1);
  return event === undefined ? null : emailDecider.evolve(null, emailCodec.decode(event));
}
