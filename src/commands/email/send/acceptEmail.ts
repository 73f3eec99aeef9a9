import { withErasure } from "../../../domain/email/contentErasure.ts";
import {
  ACCEPTANCE_REVISION,
  type Acceptance,
  type AcceptedAs,
  type EmailEvent,
  emailCodec,
  emailStream,
} from "../../../domain/email/events.ts";
import { simulatedEnd } from "../../../domain/email/simulator.ts";
import { emailDecider } from "../../../domain/email/state.ts";
import { invariant, never } from "../../../kernel/assert.ts";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";
import { contentAppendDeadline } from "../../storage/contentAppendDeadline.ts";
import { toNewEvents } from "../../transact.ts";
import { keepAttachments, type PreparedContent, prepareContent } from "../content/storedContent.ts";
import { metadataHashes } from "../metadataHashes.ts";
import { type AcceptedAttachments, acceptedAttachments } from "./acceptedAttachments.ts";
import { replayFromLog } from "./replayFromLog.ts";
import type { SendOutcome } from "./sendOutcome.ts";
import { isSimulated, ownerOf, type PreparedSend, refused, type ValidatedSend } from "./validatedSend.ts";

type SendWithFiles = PreparedSend & { readonly files: AcceptedAttachments };

/** The version in which the content event is written. The acceptance states it unless it is 1. */
const contentSchema = emailCodec.formats.get("EmailContentStored")?.writes ?? 1;
const contentVersion = contentSchema === 1 ? {} : { contentSchema };

/**
 * Stores the files and the content, then appends content and acceptance as the start of the stream. If the stream already
 * exists, the answer is that of the request which began it. Throws `StoreError`.
 */
export async function acceptEmail(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  const { workspaceId, id, contentEventId } = send;
  const folder = { workspaceId, ownerId: id, folderId: contentEventId };
  const requireInTime = contentAppendDeadline(deps.clock);
  const attachments = await keepAttachments(deps.content, folder, send.resolved);
  if (attachments === null) return refused("ATTACHMENT_EXPIRED");
  const content = attachments.length > 0 ? { ...send.content, attachments } : send.content;
  const prepared = await prepareContent(deps.content, folder, content);
  const files = await acceptedAttachments(deps, send);
  requireInTime();
  return append(deps, { ...send, content, files }, prepared);
}

async function append(
  deps: Dependencies,
  send: SendWithFiles,
  prepared: PreparedContent,
): Promise<SendOutcome> {
  const { workspaceId, context, id, fingerprint, contentEventId } = send;
  const isTest = context.isTest === true;
  const { senderId, domainSenderId } = send.sender;
  const recipientHash = deps.keys.hashAddress(workspaceId, send.to.canonical);
  const suppressed =
    (!isTest && deps.suppressions.isSuppressed(workspaceId, recipientHash)) ||
    simulatedEnd(send.to.canonical) === "suppressed";
  const acceptedAt = rfc3339(context.at);
  const accepted = {
    workspaceId,
    senderId,
    recipientHash,
    ...simulation(send),
    fingerprint,
    acceptedAt,
    contentEventId,
    contentDigest: prepared.digest,
    contentBytes: prepared.bytes,
    ...contentVersion,
    ...send.files,
    ...(domainSenderId === null ? {} : { authorityId: domainSenderId }),
    ...searchHashesOf(deps, send),
    ...(send.template && { templateId: send.template.id, templateVersionId: send.template.versionId }),
    ...(send.deliverBefore === undefined ? {} : { deliverBefore: rfc3339(send.deliverBefore) }),
    ...(send.contentRetention === undefined ? {} : { contentRetention: send.contentRetention }),
    ...(send.again && { againOf: send.again.id }),
  };
  const status = acceptedAs(send, suppressed);
  const acceptedEvent = acceptance(status, accepted, send.scheduledAt ?? context.at);
  const [stored, ...accepting] = toNewEvents(
    [{ type: "EmailContentStored", data: prepared.event }, ...withErasureAtOnce(acceptedEvent)],
    context,
  );
  invariant(stored, "as many events out as in");
  const events = [{ ...stored, id: contentEventId }, ...accepting];
  const result = await deps.store.append(emailStream(id), events, "noStream");
  if (result.outcome === "appended") {
    deps.contentQuota.add(mailOwnerId(ownerOf(send)), prepared.bytes);
    if (status === "queued") keepForDelivery(deps, send, { id, accepted, prepared });
    deps.acceptances.remember(id, { fingerprint, acceptedAs: status, acceptedAt: context.at });
    return { kind: "accepted", receipt: { id, status, acceptedAt }, replayed: false };
  }
  const replay = await replayFromLog(deps, send, { isDurable: true });
  if (replay) return replay;
  throw new StoreError("unavailable", "the message that was accepted under this key cannot be read yet");
}

/** The marks that keep a message from ever leaving the service. */
function simulation(send: SendWithFiles): Pick<Acceptance, "test" | "simulated"> {
  if (!isSimulated(send)) return {};
  return { ...(send.context.isTest === true ? { test: true } : {}), simulated: true };
}

/** What lists find the message by. Test mail has hashes of its own, so searches of live mail never find it. */
function searchHashesOf({ keys }: Dependencies, send: SendWithFiles) {
  const { tags, metadata } = send.content;
  const ownerId = mailOwnerId(ownerOf(send));
  const ofMetadata = metadata && metadataHashes(keys, ownerId, metadata);
  return {
    ...(tags === undefined ? {} : { tagHashes: tags.map((tag) => keys.hashTag(ownerId, tag)) }),
    ...(ofMetadata?.length ? { metadataHashes: ofMetadata } : {}),
  };
}

/** A scheduled time that has passed means at once. */
function acceptedAs({ scheduledAt, context }: PreparedSend, isSuppressed: boolean): AcceptedAs {
  if (isSuppressed) return "suppressed";
  return scheduledAt !== undefined && scheduledAt > context.at ? "scheduled" : "queued";
}

/** A message that is suppressed at its acceptance has ended, so content that is kept until then is erased with it. */
function withErasureAtOnce(event: EmailEvent): readonly EmailEvent[] {
  const email = emailDecider.evolve(null, event);
  return email === null ? [event] : [event, ...withErasure(email, [])];
}

function acceptance(as: AcceptedAs, accepted: Acceptance, scheduledAt: EpochMs): EmailEvent {
  switch (as) {
    case "queued":
      return { type: "EmailQueued", data: accepted };
    case "scheduled":
      return { type: "EmailScheduled", data: { ...accepted, scheduledAt: rfc3339(scheduledAt) } };
    case "suppressed":
      return { type: "EmailSuppressed", data: { ...accepted, reason: "recipient_suppressed" } };
    default:
      return never(as);
  }
}

/** Spares the delivery from this instance, which comes next, reading the message back. */
function keepForDelivery(
  { recentEmails }: Dependencies,
  { content, context }: Pick<ValidatedSend, "content" | "context">,
  {
    id,
    accepted,
    prepared,
  }: { readonly id: string; readonly accepted: Acceptance; readonly prepared: PreparedContent },
): void {
  if (recentEmails === null || prepared.salt === null) return;
  const at = rfc3339(context.at);
  const stored: EmailEvent = { type: "EmailContentStored", data: { salt: prepared.salt, content } };
  const queued: EmailEvent = { type: "EmailQueued", data: accepted };
  const events = [stored, queued].map((event, sequence) => ({ sequence, at, event }));
  const history = { state: emailDecider.evolve(null, queued), events, revision: ACCEPTANCE_REVISION };
  recentEmails.put(id, history, prepared.bytes);
}
