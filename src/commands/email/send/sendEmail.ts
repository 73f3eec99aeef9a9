import {
  ACCEPTANCE_REVISION,
  type EmailContent,
  type EmailEvent,
  emailCodec,
  emailStream,
} from "../../../domain/email/events.ts";
import { emailId, type Replay, replayOf, requestFingerprint } from "../../../domain/email/idempotency.ts";
import { scheduleFault } from "../../../domain/email/schedule.ts";
import { simulatedEnd, simulatedEndOf } from "../../../domain/email/simulator.ts";
import { type AcceptedAs, type Email, emailDecider } from "../../../domain/email/state.ts";
import type { SenderFault } from "../../../domain/sender/state.ts";
import { invariant, never } from "../../../kernel/assert.ts";
import type { DomainEvent } from "../../../kernel/event/decider.ts";
import type { WorkspaceCommandContext } from "../../../kernel/event/eventMetadata.ts";
import { newId } from "../../../kernel/ids.ts";
import { type MailOwner, mailOwnerId } from "../../../kernel/mail/mailOwner.ts";
import type { Address } from "../../../kernel/text/emailAddress.ts";
import type { JsonObject } from "../../../kernel/text/json.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";
import { type AuthorizingSender, authorizingSender } from "../../sender/authorizingSender.ts";
import { CONTENT_ALLOWANCE_USED_UP } from "../../storage/contentAllowance.ts";
import { directFilesOwner } from "../../storage/reservationOwner.ts";
import { renderForSend } from "../../template/renderForSend.ts";
import { toNewEvents } from "../../transact.ts";
import { directBytes, type FileFacts, fileFacts } from "../content/attachmentFacts.ts";
import { NO_AUTO_TEXT, withAutoText } from "../content/autoText.ts";
import { contentDeadline } from "../content/contentWriteDeadline.ts";
import { keepAttachments, type PreparedContent, prepareContent } from "../storedContent.ts";
import type { Acceptance } from "./recentAcceptances.ts";
import {
  type AttachmentsOutcome,
  type RequestedAttachment,
  type ResolvedAttachment,
  resolveAttachments,
} from "./resolveAttachments.ts";
import type { SendOutcome, SendRefusal, SendRefusalCode } from "./sendOutcome.ts";
import { landed, sharedOutcome } from "./singleFlightSends.ts";

/** A request that has passed every check that does not depend on state. */
export interface SendEmail {
  readonly workspaceId: string;
  readonly idempotencyKey: string;
  /** The request as it was sent, direct files by their digests: what a retry is compared by. */
  readonly request: JsonObject;
  readonly from: Address;
  readonly to: Address;
  /** What the request says itself; a template's output takes the place of subject, html and text. */
  readonly content: EmailContent;
  /** When it is to be delivered; absent: at once. */
  readonly scheduledAt?: EpochMs;
  /** Whether html without a text gets one made of it. */
  readonly autoText?: boolean;
  readonly template: { readonly id: string; readonly versionId: string | null } | null;
  readonly attachments: readonly RequestedAttachment[];
  readonly context: WorkspaceCommandContext;
}

/**
 * Accepts one message: one append of its content and its acceptance, expected to begin the stream that the
 * Idempotency-Key names. Whoever comes second reads what the first one wrote: the same request gets the same
 * answer, another one a conflict. Throws `StoreError`; then nothing is known to be accepted.
 */
export async function sendEmail(deps: Dependencies, send: SendEmail): Promise<SendOutcome> {
  const id = emailId(ownerOf(send), send.idempotencyKey);
  const fingerprint = requestFingerprint(deps.keys, send.workspaceId, send.request);
  const kept = deps.acceptances.get(id) ?? listedAcceptance(deps, id, fingerprint);
  if (kept !== undefined) return replayOf(id, kept, fingerprint);
  const request = { id, fingerprint, contentEventId: newId() };
  // Files are dear to check and to store, so a retry is looked for before them; all else is cheaper than a look.
  const known = send.attachments.length > 0 ? await replay(deps, request) : null;
  if (known) return known;
  const prepared = await prepare(deps, send);
  // We look for a replay before a refusal, so a retry of what was accepted is never refused by what happened since.
  if (prepared.kind === "refused") {
    await landed(deps.sends, id);
    return (await replay(deps, request)) ?? prepared;
  }
  let other = deps.sends.get(id);
  while (other !== undefined) {
    const shared = await sharedOutcome(other, fingerprint);
    if (shared) return shared;
    other = deps.sends.get(id);
  }
  const outcome = acceptOrRefuse(deps, { ...send, ...request, ...prepared });
  deps.sends.set(id, { fingerprint, outcome });
  try {
    return await outcome;
  } finally {
    deps.sends.delete(id);
  }
}

function ownerOf({ workspaceId, context }: Pick<SendEmail, "workspaceId" | "context">): MailOwner {
  return { workspaceId, isTest: context.isTest === true };
}

/** Whether the message stays inside: then it takes nothing from the daily limit. */
function isSimulated({ context, to }: Pick<SendEmail, "context" | "to">): boolean {
  return simulatedEndOf(to.canonical, context.isTest === true) !== null;
}

async function acceptOrRefuse(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  if (deps.disk.freeBytes() < deps.diskFreeBytesMin) {
    const replayed = await replay(deps, send);
    if (replayed) return replayed;
    throw new StoreError("unavailable", "the data directory's disk is nearly full");
  }
  const outcome = await withinLimits(deps, send);
  return outcome.kind === "refused" ? ((await replay(deps, send)) ?? outcome) : outcome;
}

/** What names a request and its message. */
interface RequestNames {
  readonly id: string;
  readonly fingerprint: string;
  /** The event id of the content, if this request is the one that is accepted. */
  readonly contentEventId: string;
}

/** A send that every check but the limits has passed. */
interface Prepared {
  readonly kind: "prepared";
  readonly sender: AuthorizingSender;
  readonly content: EmailContent;
  readonly templateVersionId: string | null;
  readonly resolved: readonly ResolvedAttachment[];
}

type PreparedSend = Omit<SendEmail, "content"> & RequestNames & Prepared;

function refused(code: SendRefusalCode, faults: SendRefusal["faults"] = []): SendRefusal {
  return { kind: "refused", code, faults };
}

const CONTENT_EXCEEDED: SendRefusal = {
  ...refused("STORAGE_LIMIT_EXCEEDED"),
  detail: CONTENT_ALLOWANCE_USED_UP,
};
const STORAGE_EXCEEDED: SendRefusal = {
  ...refused("STORAGE_LIMIT_EXCEEDED"),
  detail: "the workspace's allowance for temporary files (storage_bytes) cannot take the direct files",
};

/** What a sender lacks, and what to do about it. Those of other workspaces are unknown here. */
const SENDER_FAULTS: Readonly<Record<SenderFault, string>> = {
  unknown:
    "is not a sending address of this workspace: add it or its domain (POST /api/v1/senders), then verify it",
  unverified: "is not verified yet: ask for its link (POST /api/v1/senders/{id}/verification) and open that",
  disabled: "is disabled: enable it again (POST /api/v1/senders/{id}/enable)",
  domainUnverified:
    "is of a domain that is not verified yet: publish its dns_record, then ask to look for it (POST /api/v1/senders/{id}/verification)",
  domainDisabled: "is of a domain that is disabled: enable it again (POST /api/v1/senders/{id}/enable)",
};

/** In place of a unit of the daily limit, for what takes none. */
const NO_UNIT = Symbol("no unit of the daily limit");
const NO_FILES: AttachmentsOutcome = { kind: "resolved", attachments: [] };

/** Everything that depends on state but takes nothing, in the order of answers. */
async function prepare(deps: Dependencies, send: SendEmail): Promise<Prepared | SendRefusal> {
  const { workspaceId, scheduledAt } = send;
  // The clock, too, is a state: the repeat of a message that went long ago gets its answer.
  const timeFault = scheduledAt === undefined ? null : scheduleFault(scheduledAt, send.context.at);
  if (timeFault !== null)
    return refused("INVALID_REQUEST", [{ pointer: "/scheduled_at", message: timeFault }]);
  const sender = await authorizingSender(deps, workspaceId, send.from);
  if (typeof sender === "string") {
    return refused("SENDER_UNAVAILABLE", [{ pointer: "/from", message: SENDER_FAULTS[sender] }]);
  }
  const { state: workspace } = await deps.workspaces.loaded(workspaceId);
  if (workspace?.paused) return refused("SENDING_PAUSED");
  const rendered =
    send.template === null ? asItIs(send.content) : await renderedContent(deps, send, send.template);
  if (rendered.kind === "refused") return rendered;
  const content = send.autoText ? await withAutoText(deps, rendered.content) : rendered.content;
  if (content === null) return refused("INVALID_REQUEST", [NO_AUTO_TEXT]);
  const files =
    send.attachments.length === 0 ? NO_FILES : await resolveAttachments(deps, workspaceId, send.attachments);
  if (files.kind === "refused") {
    return refused(files.code, [{ pointer: files.pointer, message: files.message }]);
  }
  const contentBytesMax = workspace?.limits.contentBytes ?? deps.limitsDefault.contentBytes;
  const takesContent = send.context.isTest !== true;
  if (takesContent && deps.contentAllowance.isUsedUp(workspaceId, contentBytesMax)) return CONTENT_EXCEEDED;
  return {
    kind: "prepared",
    sender,
    content: sender.displayName === null ? content : { fromName: sender.displayName, ...content },
    templateVersionId: rendered.versionId,
    resolved: files.attachments,
  };
}

interface Rendered {
  readonly kind: "rendered";
  readonly content: EmailContent;
  readonly versionId: string | null;
}

function asItIs(content: EmailContent): Rendered {
  return { kind: "rendered", content, versionId: null };
}

async function renderedContent(
  deps: Dependencies,
  { content, workspaceId }: SendEmail,
  template: NonNullable<SendEmail["template"]>,
): Promise<Rendered | SendRefusal> {
  const { variables = {} } = content;
  const outcome = await renderForSend(deps, {
    workspaceId,
    templateId: template.id,
    versionId: template.versionId,
    variables,
  });
  if (outcome.kind === "unavailable") return refused("TEMPLATE_UNAVAILABLE", [outcome.fault]);
  if (outcome.kind === "invalidData") return refused("INVALID_TEMPLATE_DATA", outcome.faults);
  const { html: _html, text: _text, ...rest } = content;
  const { kind: _kind, versionId, ...output } = outcome;
  return { kind: "rendered", content: { ...rest, ...output }, versionId };
}

/** Takes what the limits allow, and gives it back unless the message was accepted. Test mail takes nothing. */
async function withinLimits(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  const { workspaceId, context, id } = send;
  const bytes = context.isTest === true ? 0 : directBytes(send.resolved);
  const owner = directFilesOwner(id, send.contentEventId);
  if (bytes > 0 && !(await deps.storage.reserve(workspaceId, owner, bytes, context))) {
    return STORAGE_EXCEEDED;
  }
  let used = false;
  try {
    const unit = isSimulated(send) ? NO_UNIT : await deps.quota.take(workspaceId, id, context.at);
    if (unit === null) return refused("DAILY_LIMIT_REACHED");
    used = true;
    try {
      const outcome = await accept(deps, send);
      used = outcome.kind === "accepted" && !outcome.replayed;
      return outcome;
    } catch (error) {
      // An outage must not eat up the day. Where the outcome is unknown the message may be there: it counts.
      used = !(error instanceof StoreError) || error.failure === "outcomeUnknown";
      throw error;
    } finally {
      if (!used && unit !== NO_UNIT) await deps.quota.returnUnit(workspaceId, unit);
    }
  } finally {
    // Where the outcome is unknown the reservation waits for whoever sweeps them up.
    if (!used && bytes > 0) await deps.storage.release(workspaceId, owner, context);
  }
}

async function accept(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  const { workspaceId, id, contentEventId } = send;
  const folder = { workspaceId, ownerId: id, folderId: contentEventId };
  const requireInTime = contentDeadline(deps.clock);
  const attachments = await keepAttachments(deps.content, folder, send.resolved);
  if (attachments === null) return refused("ATTACHMENT_EXPIRED");
  const content = attachments.length > 0 ? { ...send.content, attachments } : send.content;
  const sealed = await prepareContent(deps.content, folder, content);
  const files = await fileFacts(deps, send);
  requireInTime();
  return append(deps, { ...send, content, files }, sealed);
}

type SendWithFiles = PreparedSend & { readonly files: FileFacts };

const contentSchema = emailCodec.formats.get("EmailContentStored")?.writes ?? 1;
const contentVersion = contentSchema === 1 ? {} : { contentSchema };

async function append(
  deps: Dependencies,
  send: SendWithFiles,
  sealed: PreparedContent,
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
    contentDigest: sealed.digest,
    contentBytes: sealed.bytes,
    ...contentVersion,
    ...send.files,
    ...(domainSenderId === null ? {} : { authorityId: domainSenderId }),
    ...tagHashesOf(deps, send),
    ...(send.template === null ? {} : { templateId: send.template.id }),
    ...(send.templateVersionId === null ? {} : { templateVersionId: send.templateVersionId }),
  };
  const status = acceptedAs(send, suppressed);
  const acceptedEvent = acceptance(status, accepted, send.scheduledAt ?? context.at);
  const [stored, queued] = toNewEvents(
    [{ type: "EmailContentStored", data: sealed.event }, acceptedEvent],
    context,
  );
  invariant(stored && queued, "two events in, two events out");
  const events = [{ ...stored, id: contentEventId }, queued];
  const result = await deps.store.append(emailStream(id), events, "noStream");
  if (result.outcome === "appended") {
    if (!isTest) deps.contentAllowance.add(workspaceId, sealed.bytes);
    if (status === "queued") remember(deps, send, { id, accepted, sealed });
    deps.acceptances.set(id, { fingerprint, acceptedAs: status, acceptedAt: context.at });
    return { kind: "accepted", receipt: { id, status, acceptedAt }, replayed: false };
  }
  const replayed = await replay(deps, send);
  if (replayed) return replayed;
  throw new StoreError("unavailable", "the message that was accepted under this key cannot be read yet");
}

type Accepted = Extract<EmailEvent, { type: "EmailQueued" }>["data"];

/** What makes of a message one that stays inside, for good. */
function simulation(send: SendWithFiles): Pick<Accepted, "test" | "simulated"> {
  if (!isSimulated(send)) return {};
  return { ...(send.context.isTest === true ? { test: true } : {}), simulated: true };
}

/** Tags of test mail have hashes of their own, so that none of it is found among live mail. */
function tagHashesOf({ keys }: Dependencies, send: SendWithFiles) {
  const { tags } = send.content;
  const ownerId = mailOwnerId(ownerOf(send));
  return tags === undefined ? {} : { tagHashes: tags.map((tag) => keys.hashTag(ownerId, tag)) };
}

/** A time that has come means at once. */
function acceptedAs({ scheduledAt, context }: PreparedSend, isSuppressed: boolean): AcceptedAs {
  if (isSuppressed) return "suppressed";
  return scheduledAt !== undefined && scheduledAt > context.at ? "scheduled" : "queued";
}

function acceptance(as: AcceptedAs, accepted: Accepted, scheduledAt: EpochMs): DomainEvent {
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

/** Keeps what delivery is about to need. */
function remember(
  { recent }: Dependencies,
  { content, context }: Pick<SendEmail, "content" | "context">,
  {
    id,
    accepted,
    sealed,
  }: { readonly id: string; readonly accepted: Accepted; readonly sealed: PreparedContent },
): void {
  if (recent === null || sealed.salt === null) return;
  const at = rfc3339(context.at);
  const stored: EmailEvent = { type: "EmailContentStored", data: { salt: sealed.salt, content } };
  const queued: EmailEvent = { type: "EmailQueued", data: accepted };
  const events = [stored, queued].map((event, sequence) => ({ sequence, at, event }));
  const history = { state: emailDecider.evolve(null, queued), events, revision: ACCEPTANCE_REVISION };
  recent.put(id, history, sealed.bytes);
}

/**
 * What an earlier request with this key and content is answered from, where the read model lists it: a call of a server
 * may cost more than an append. Changed content is never listed, so a conflict has the log's word.
 */
function listedAcceptance(deps: Dependencies, id: string, fingerprint: string): Acceptance | undefined {
  const listed = deps.acceptanceList.find(id, fingerprint);
  if (listed === null) return undefined;
  const acceptance = { fingerprint, ...listed };
  deps.acceptances.set(id, acceptance);
  return acceptance;
}

/** The answer to an earlier request with this key; null when there was none. */
async function replay(
  deps: Dependencies,
  { id, fingerprint }: Pick<RequestNames, "id" | "fingerprint">,
): Promise<Replay | null> {
  const email = await readAcceptance(deps, id);
  if (email === null) return null;
  const { acceptedAs, acceptedAt } = email;
  deps.acceptances.set(id, { fingerprint: email.fingerprint, acceptedAs, acceptedAt });
  return replayOf(id, email, fingerprint);
}

async function readAcceptance(deps: Dependencies, id: string): Promise<Email | null> {
  const [event] = await deps.store.read(emailStream(id), ACCEPTANCE_REVISION, 1);
  return event === undefined ? null : emailDecider.evolve(null, emailCodec.decode(event));
}
