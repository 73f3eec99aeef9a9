import { uploadsSentTo } from "../../../projections/attachmentUse.ts";
import { emailsToRecipient } from "../../../projections/emails/queries.ts";
import { areOthersWaiting, openErasures } from "../../../projections/erasures.ts";
import type { KeysetCursor } from "../../../projections/keysetPagination.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readEmailState } from "../../commands/email/readEmail.ts";
import { clearErasedEmail, eraseEmail } from "../../commands/erasure/eraseEmailContent.ts";
import { erasePersonsUpload } from "../../commands/erasure/erasePersonsUpload.ts";
import { eraseSuppressedAddress } from "../../commands/erasure/eraseSuppressedAddress.ts";
import {
  completePersonErasure,
  type ErasureView,
  noteErasureApplied,
  readErasure,
} from "../../commands/erasure/erasureRequests.ts";
import { ACCEPTANCE_REVISION, emailStream } from "../../domain/email/events.ts";
import type { Email } from "../../domain/email/state.ts";
import type { ErasureCounts } from "../../domain/erasure/events.ts";
import { nextTurn } from "../../kernel/concurrency/sleep.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { epochMs, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { destinationOf } from "../../ports/mail/mailTransport.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { type PollingWork, type PollingWorker, pollingWorker } from "../worker/pollingWorker.ts";
import { ErasureFaults } from "./erasureFaults.ts";

interface PersonErasureOptions extends Pick<PollingWork, "worker" | "random" | "onTrouble"> {
  readonly deps: Dependencies;
  readonly erasures: ReadDatabase;
  readonly emails: ReadDatabase;
  readonly attachmentUse: ReadDatabase;
  /** Waits briefly for both to catch up with the log; false when they do not, or once `signal` aborts. */
  readonly areCaughtUp: (signal: AbortSignal) => Promise<boolean>;
  /** Truncates the read models' WAL files. Returns a sentence for each thing that remains. */
  readonly emptyWriteAheadLogs: () => Promise<readonly string[]>;
}

/** Too early to go on. The request is retried after a rest, and no trouble is reported. */
class NotYetError extends Error {
  override readonly name = "NotYetError";
}

/** Messages of a workspace to check in one step: some 10 ms. */
const WALK_EMAILS = 5_000;
const PAGE_UPLOADS = 500;
/** How many of the uploads that stay the report names. */
const KEPT_MAX = 1_000;
/** A message accepted this long before the request is covered, however far two instances' clocks differ. */
const CLOCKS_DIFFER_MS_MAX = HOUR_MS;
/** How long to repeat a purge that leaves something behind; after that the report says what remains. */
const PURGE_RETRY_MS_MAX = 15 * MINUTE_MS;
/** How long an applied request waits for others to share its purge. It never waits longer, however many come. */
const PURGE_SHARED_MS = 10 * SECOND_MS;

interface Erasing extends PersonErasureOptions {
  readonly request: ErasureView;
  readonly context: WorkspaceCommandContext;
  readonly stopping: AbortSignal;
}

/**
 * Erases people. Every step can be repeated: after a crash any instance starts the request again, and finds what is
 * already erased. Several instances may work on the same request.
 */
export function personErasure(options: PersonErasureOptions): PollingWorker {
  const { deps, erasures, ...rest } = options;
  const { clock, store } = deps;
  /** When each request was first seen as applied, and when the last purge that left nothing began; monotonic. */
  const appliedSince = new Map<string, number>();
  let cleanSince = Number.NEGATIVE_INFINITY;
  /** The workspace of the last request found. */
  let workspaceId = "";

  /** One purge serves all requests applied before it began. */
  const purge = async ({ id, appliedAt, requestedAt }: ErasureView): Promise<readonly string[]> => {
    const since = appliedSince.getOrInsertComputed(id, () => clock.monotonicMs());
    if (since < cleanSince) return [];
    const startedAt = clock.monotonicMs();
    const { remains } = await store.purge();
    const all = [...remains, ...(await options.emptyWriteAheadLogs())];
    if (all.length === 0) cleanSince = startedAt;
    else if (clock.now() - epochMs(appliedAt ?? requestedAt) < PURGE_RETRY_MS_MAX)
      throw new NotYetError(all.join("; "));
    return all;
  };

  return pollingWorker({
    ...rest,
    onTrouble: (error, id) => {
      if (!(error instanceof NotYetError)) options.onTrouble(error, id);
    },
    clock,
    concurrencyMax: 1,
    find(_now, without, limit) {
      const found = openErasures(erasures, workspaceId, without, limit);
      workspaceId = found.at(-1)?.workspaceId ?? "";
      return found;
    },
    async act(id, acting, stopping) {
      let request = await readErasure(store, id);
      if (request === null) return;
      const context = { ...acting, workspaceId: request.erasure.workspaceId };
      if (request.erasure.status === "requested") {
        const counts = await apply({ ...options, request, context, stopping });
        await noteErasureApplied(store, id, counts, context);
        request = await readErasure(store, id);
      }
      if (request?.erasure.status !== "applied") return;
      // A purge is expensive, so it waits until all open requests can share it.
      const { appliedAt } = request;
      const isEarly = appliedAt !== null && clock.now() - epochMs(appliedAt) < PURGE_SHARED_MS;
      if (isEarly && areOthersWaiting(erasures, id)) return;
      await completePersonErasure(store, id, await purge(request), context);
      appliedSince.delete(id);
    },
  });
}

/**
 * Erases everything about the person. Throws {@link NotYetError} while read models lag or a message is in flight, the
 * fault of a single message or file once everything else is erased, and the reason of `stopping` once that aborts.
 */
async function apply(erasing: Erasing): Promise<ErasureCounts> {
  if (!(await erasing.areCaughtUp(erasing.stopping)))
    throw new NotYetError("the read models are behind the log");
  const faults = new ErasureFaults(erasing.deps.clock);
  const { underWay, ...messages } = await eraseMessages(erasing, faults);
  // After the messages: the last of them may only just have bounced and suppressed its recipient.
  const { request, deps, context } = erasing;
  const uploads = await eraseUploads(erasing, faults);
  const hadSuppression = await eraseSuppressedAddress(
    deps.store,
    request.erasure.recipientHash,
    request.id,
    context,
  );
  faults.throwFirst();
  if (underWay > 0) throw new NotYetError(`${underWay} messages are being delivered`);
  return { ...messages, ...uploads, suppressionsErased: hadSuppression ? 1 : 0 };
}

type MessageCounts = Omit<ErasureCounts, "uploadsErased" | "uploadsKept" | "suppressionsErased">;

const NOTHING: MessageCounts = {
  messagesErased: 0,
  messagesCanceled: 0,
  messagesErasedBefore: 0,
  messagesWithFiles: 0,
  outboxMessages: 0,
};

async function eraseMessages(
  erasing: Erasing,
  faults: ErasureFaults,
): Promise<MessageCounts & { readonly underWay: number }> {
  const { emails, request } = erasing;
  let counts = NOTHING;
  let underWay = 0;
  let after: KeysetCursor | null = null;
  do {
    const page = emailsToRecipient(emails, request.erasure, after, WALK_EMAILS);
    for (const message of page.found) {
      erasing.stopping.throwIfAborted();
      await faults.pass(`message ${message.id}`, async () => {
        const email = await eraseMessage(erasing, message);
        if (email === "underWay") underWay += 1;
        else if (email !== null) counts = counted(counts, email, request.id);
      });
    }
    after = page.next;
    await nextTurn();
  } while (after !== null);
  return { ...counts, underWay };
}

/** Erases the message and returns it; null when the request does not cover it. */
async function eraseMessage(
  { deps, request, context }: Erasing,
  { id, createdAt }: KeysetCursor,
): Promise<Email | "underWay" | null> {
  if (!(await isCovered(deps, request, { id, createdAt }))) return null;
  const outcome = await eraseEmail(deps, id, { reason: "person", erasureId: request.id }, context);
  if (outcome === "afterClaim") return "underWay";
  // Again, because whatever failed during the erasure itself was left for later.
  await clearErasedEmail(deps, id, context);
  return readEmailState(deps.store, id);
}

/** Whether it was accepted before the request. Near it the log's order decides, since instances' clocks differ. */
async function isCovered(
  { store }: Dependencies,
  { requestedAt, position }: ErasureView,
  { id, createdAt }: KeysetCursor,
): Promise<boolean> {
  if (epochMs(createdAt) < epochMs(requestedAt) - CLOCKS_DIFFER_MS_MAX) return true;
  const [accepted] = await store.read(emailStream(id), ACCEPTANCE_REVISION, 1);
  return accepted !== undefined && accepted.position < position;
}

function counted(counts: MessageCounts, email: Email, erasureId: string): MessageCounts {
  if (email.erasedFor?.erasureId !== erasureId) {
    return { ...counts, messagesErasedBefore: counts.messagesErasedBefore + 1 };
  }
  return {
    ...counts,
    messagesErased: counts.messagesErased + 1,
    messagesCanceled: counts.messagesCanceled + (email.erasedFor.canceled ? 1 : 0),
    messagesWithFiles: counts.messagesWithFiles + (email.attachmentsUntil === null ? 0 : 1),
    outboxMessages: counts.outboxMessages + (destinationOf(email.transport) === "files" ? 1 : 0),
  };
}

/** An upload that was also sent to others is theirs too: it stays, and the report names it. */
async function eraseUploads(erasing: Erasing, faults: ErasureFaults) {
  const { deps, attachmentUse, request, context, stopping } = erasing;
  let uploadsErased = 0;
  const uploadsKept: string[] = [];
  for (let after = ""; ; ) {
    const page = uploadsSentTo(attachmentUse, request.erasure.recipientHash, after, PAGE_UPLOADS);
    for (const { id, isShared } of page) {
      stopping.throwIfAborted();
      if (isShared) uploadsKept.push(id);
      else
        await faults.pass(`upload ${id}`, async () => {
          if (await erasePersonsUpload(deps, id, request.id, context)) uploadsErased += 1;
        });
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_UPLOADS) break;
    after = last.id;
  }
  return { uploadsErased, uploadsKept: uploadsKept.slice(0, KEPT_MAX) };
}
