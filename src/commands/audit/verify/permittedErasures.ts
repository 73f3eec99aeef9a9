import { apiKeyCodec, apiKeyStream } from "../../../domain/apiKey/events.ts";
import {
  type AttachmentEvent,
  attachmentCodec,
  attachmentStream,
} from "../../../domain/attachment/events.ts";
import {
  ACCEPTANCE_REVISION,
  EMAIL_ENDS,
  emailCodec,
  emailStream,
  isAcceptance,
  UNTIL_FINAL_STATUS,
} from "../../../domain/email/events.ts";
import { erasureCodec, erasureStream } from "../../../domain/erasure/events.ts";
import { storageCodec, storageStream } from "../../../domain/storage/events.ts";
import {
  type SuppressionEvent,
  suppressionCodec,
  suppressionStream,
} from "../../../domain/suppression/events.ts";
import { type TemplateEvent, templateCodec, templateStream } from "../../../domain/template/events.ts";
import { LIMIT_RANGES } from "../../../domain/workspace/workspaceLimits.ts";
import { keyIdOf } from "../../../kernel/event/actor.ts";
import type { DomainEvent } from "../../../kernel/event/decider.ts";
import { type Codec, readableEvent } from "../../../kernel/event/eventCodec.ts";
import { type ErasedEventHash, erasedEventHashes } from "../../../kernel/event/eventHash.ts";
import { idOfStream } from "../../../kernel/event/idOfStream.ts";
import { DAY_MS, epochMs } from "../../../kernel/time.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../../ports/readDatabase.ts";
import { ErasureEvidence, type MessageEvidence } from "./erasureEvidence.ts";

/** What an event permits to be missing in its own stream. */
interface PermittedGap {
  /** All revisions below this one; 0: none. */
  readonly below: number;
  /** Single revisions, with the hashes of the events that were there. */
  readonly erased: readonly ErasedEventHash[];
  /** Why the claimed erasure is not permitted; null if it is, or if the event erases nothing. */
  readonly unfounded: string | null;
}

const NOTHING: PermittedGap = { below: 0, erased: [], unfounded: null };
const STORAGE = storageStream("");
const EMAIL = emailStream("");
const ATTACHMENT = attachmentStream("");
const TEMPLATE = templateStream("");
const SUPPRESSION = suppressionStream("");
/** No limit lets content be erased by retention sooner after its acceptance than this. */
const RETENTION_MS_MIN = LIMIT_RANGES.contentRetentionDays.min * DAY_MS;

const ENDS: ReadonlySet<string> = new Set(EMAIL_ENDS);

/** Whether the hashes of this stream's events are lost with them: nobody keeps those of the storage ledger. */
export function losesEventHashes(stream: string): boolean {
  return stream.startsWith(STORAGE);
}

function unfounded(why: string): PermittedGap {
  return { ...NOTHING, unfounded: why };
}

/** The event, decoded; null if it is of another type or not readable. */
function decoded<Event extends DomainEvent, Type extends Event["type"]>(
  codec: Codec<Event>,
  event: RecordedEvent,
  type: Type,
): Extract<Event, { readonly type: Type }> | null {
  if (event.type !== type) return null;
  return readableEvent(codec, event) as Extract<Event, { readonly type: Type }> | null;
}

/**
 * Decides for each event, in the order of the log, what may be missing because of it. An erasure counts only for what
 * such an erasure can remove, and only with its reason earlier in the log: the caller's key, the person's request, or a
 * message that has ended and is old enough, or whose send asked for that. Anything else that is said to be erased counts
 * as missing.
 */
export class PermittedErasures {
  private readonly facts;

  constructor(db: ReadDatabaseFile) {
    this.facts = new ErasureEvidence(db);
  }

  /** Takes the next event of the log. */
  take(event: RecordedEvent): PermittedGap {
    const { stream } = event;
    if (stream.startsWith(EMAIL)) return this.takeEmail(event);
    if (stream.startsWith(SUPPRESSION)) return this.takeSuppression(event);
    if (stream.startsWith(ATTACHMENT)) return this.takeUpload(event);
    if (stream.startsWith(TEMPLATE)) return this.takeTemplate(event);
    if (stream.startsWith(STORAGE)) return takeStorage(event);
    const issued = decoded(apiKeyCodec, event, "ApiKeyIssued");
    if (issued) this.facts.noteKey(stream, issued.data.workspaceId);
    const requested = decoded(erasureCodec, event, "ErasureRequested");
    if (requested && this.actorFault(event, requested.data.workspaceId) === null)
      this.facts.noteRequest(stream, requested.data);
    return NOTHING;
  }

  private takeEmail(event: RecordedEvent): PermittedGap {
    const { stream, revision, type } = event;
    if (revision === ACCEPTANCE_REVISION) this.accept(event);
    const message = this.facts.message(stream);
    if (message === null)
      return type === "EmailContentErased" ? unfounded("no acceptance comes before it") : NOTHING;
    if (ENDS.has(type) && !message.hasEnded) this.facts.noteMessage(stream, { ...message, hasEnded: true });
    if (type === "EmailContentErasureRequested" && this.actorFault(event, message.workspaceId) === null)
      this.facts.noteMessage(stream, { ...message, isErasureRequested: true });
    if (type !== "EmailContentErased") return NOTHING;
    const fault = this.contentErasureFault(event, message);
    return fault === null ? { ...NOTHING, below: ACCEPTANCE_REVISION } : unfounded(fault);
  }

  private accept(event: RecordedEvent): void {
    const accepted = readableEvent(emailCodec, event);
    if (accepted === null || !isAcceptance(accepted)) return;
    const { workspaceId, recipientHash, acceptedAt, uploadIds = [], contentRetention } = accepted.data;
    this.facts.noteMessage(event.stream, {
      ...{ workspaceId, recipientHash, acceptedAt },
      isErasedAtEnd: contentRetention === UNTIL_FINAL_STATUS,
      hasEnded: false,
      isErasureRequested: false,
    });
    for (const uploadId of uploadIds) this.facts.noteSent(uploadId, recipientHash);
  }

  private contentErasureFault(event: RecordedEvent, message: MessageEvidence): string | null {
    const erasure = decoded(emailCodec, event, "EmailContentErased")?.data;
    if (!erasure) return "it cannot be read";
    if (erasedEventHashes(event).length > 0) return "it names events that no erasure of content removes";
    if (!isOf(event, message.workspaceId)) return "its metadata name another workspace than the message's";
    if (!message.hasEnded) return "the message had not ended";
    switch (erasure.reason) {
      case "retention":
        return isAged(event, message) ? null : "the message was not old enough for the shortest retention";
      case "final_status":
        return message.isErasedAtEnd ? null : "its send did not ask for that";
      case "requested":
        return message.isErasureRequested ? null : this.actorFault(event, message.workspaceId);
      case "person":
        return this.requestFault(erasure.erasureId, message);
      default:
        return "content is never erased for the reason that it gives";
    }
  }

  private takeSuppression(event: RecordedEvent): PermittedGap {
    const { stream, revision, type } = event;
    this.facts.noteSuppressionEvent(stream, revision, type);
    if (type !== "SuppressionAddressErased") return NOTHING;
    const erased = erasedEventHashes(event);
    const fault = this.addressErasureFault(event, erased);
    return fault === null ? { ...NOTHING, erased } : unfounded(fault);
  }

  /** Erasing an address removes everything up to it. The suppression right after it stays. */
  private addressErasureFault(event: RecordedEvent, erased: readonly ErasedEventHash[]): string | null {
    const { stream, revision } = event;
    const data = decoded(suppressionCodec, event, "SuppressionAddressErased")?.data;
    if (!data) return "it cannot be read";
    const { workspaceId, recipientHash, erasureId } = data;
    if (!isOf(event, workspaceId)) return ANOTHER_WORKSPACE;
    if (suppressionStream(recipientHash) !== stream) return "it is about another recipient";
    if (erased.length === 0) return "it names no event";
    const behind = Math.max(...erased.map((one) => one.revision)) + 1;
    const led = this.facts.suppressionEvent(stream, behind);
    // If the next event is missing too, an erasure of its own must permit that.
    if (
      behind >= revision ||
      (led !== null && led !== ("RecipientSuppressed" satisfies SuppressionEvent["type"]))
    )
      return "it names events that no erasure of an address removes";
    return this.requestFault(erasureId, { workspaceId, recipientHash });
  }

  private takeUpload(event: RecordedEvent): PermittedGap {
    if (event.type !== ("AttachmentErased" satisfies AttachmentEvent["type"])) return NOTHING;
    const erased = erasedEventHashes(event);
    const fault = this.uploadErasureFault(event, erased);
    return fault === null ? { ...NOTHING, erased } : unfounded(fault);
  }

  /** The event repeats what is left of the upload, so everything before it is removed. */
  private uploadErasureFault(event: RecordedEvent, erased: readonly ErasedEventHash[]): string | null {
    const data = decoded(attachmentCodec, event, "AttachmentErased")?.data;
    if (!data) return "it cannot be read";
    if (!isOf(event, data.workspaceId)) return ANOTHER_WORKSPACE;
    if (!namesAllBefore(event, erased)) return NAMES_OTHERS;
    const request = this.facts.request(erasureStream(data.erasureId));
    if (request === null || request.workspaceId !== data.workspaceId) return NO_REQUEST;
    const uploadId = idOfStream(event.stream);
    return this.facts.wasSentTo(uploadId, request.recipientHash)
      ? null
      : "the upload was never sent to the person to be erased";
  }

  /** Of a deleted template only the deletion stays. */
  private takeTemplate(event: RecordedEvent): PermittedGap {
    if (event.type !== ("TemplateDeleted" satisfies TemplateEvent["type"])) return NOTHING;
    const erased = erasedEventHashes(event);
    const data = decoded(templateCodec, event, "TemplateDeleted")?.data;
    if (!data) return unfounded("it cannot be read");
    if (!isOf(event, data.workspaceId)) return unfounded(ANOTHER_WORKSPACE);
    if (!namesAllBefore(event, erased)) return unfounded(NAMES_OTHERS);
    const fault = this.actorFault(event, data.workspaceId);
    return fault === null ? { ...NOTHING, erased } : unfounded(fault);
  }

  /** The actor must be a key of the workspace, or the operator on the command line. */
  private actorFault({ metadata }: RecordedEvent, workspaceId: string): string | null {
    const actor = String(metadata.actor ?? "");
    if (actor === "cli") return null;
    const keyId = keyIdOf(actor);
    if (keyId !== null && this.facts.workspaceOfKey(apiKeyStream(keyId)) === workspaceId) return null;
    return "its actor may not ask for it: it is neither a key of the workspace nor the operator";
  }

  private requestFault(
    erasureId: string | undefined,
    { workspaceId, recipientHash }: Pick<MessageEvidence, "workspaceId" | "recipientHash">,
  ): string | null {
    const request = erasureId === undefined ? null : this.facts.request(erasureStream(erasureId));
    const isTheirs = request?.workspaceId === workspaceId && request.recipientHash === recipientHash;
    return isTheirs ? null : NO_REQUEST;
  }
}

const NAMES_OTHERS = "it does not name all events before it";
const ANOTHER_WORKSPACE = "its metadata name another workspace than its data";
const NO_REQUEST = "no request in the log asks for it";

/** A count repeats everything that is held, so events below its `before` are no longer needed. */
function takeStorage(event: RecordedEvent): PermittedGap {
  const counted = decoded(storageCodec, event, "StorageCounted");
  const before = counted?.data.before ?? 0;
  return { ...NOTHING, below: Math.min(before, event.revision) };
}

function namesAllBefore({ revision }: RecordedEvent, erased: readonly ErasedEventHash[]): boolean {
  const named = new Set(erased.map((one) => one.revision));
  return named.size > 0 && named.size === revision;
}

function isOf({ metadata }: RecordedEvent, workspaceId: string): boolean {
  return metadata.workspaceId === workspaceId;
}

function isAged({ metadata }: RecordedEvent, { acceptedAt }: MessageEvidence): boolean {
  return epochMs(String(metadata.at)) - epochMs(acceptedAt) >= RETENTION_MS_MIN;
}
