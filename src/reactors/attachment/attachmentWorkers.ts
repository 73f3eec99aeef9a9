import { endedUploads, pendingUploads } from "../../../projections/attachments.ts";
import { messagesWithOldFiles } from "../../../projections/attachmentUse.ts";
import { checkAttachment } from "../../commands/attachment/checkAttachment.ts";
import { expireEmailFiles, expireUpload } from "../../commands/attachment/expireFiles.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { jumpProofTime } from "../worker/jumpProofTime.ts";
import { type PollingWork, type PollingWorker, pollingWorker } from "../worker/pollingWorker.ts";

interface AttachmentWorkersOptions extends Pick<PollingWork, "worker" | "random" | "onTrouble"> {
  readonly deps: Dependencies;
  readonly attachments: ReadDatabase;
  readonly attachmentUse: ReadDatabase;
}

/** Files checked concurrently; each is held in memory whole. */
const CHECKS_MAX = 2;
/** Concurrent removals of each kind. */
const REMOVALS_MAX = 2;

/**
 * One inspects uploads and records what they are; they stay pending while the malware scanner is unavailable. One
 * expires uploads whose time is over, and deletes their bytes once no message is to be sent from them. One deletes the
 * files of messages that have ended and are past their retention.
 */
export function attachmentWorkers(options: AttachmentWorkersOptions): readonly PollingWorker[] {
  const { deps, attachments, attachmentUse, ...rest } = options;
  const clock = { now: jumpProofTime(deps.clock), monotonicMs: () => deps.clock.monotonicMs() };
  const removing = { ...rest, clock, concurrencyMax: REMOVALS_MAX };
  return [
    pollingWorker({
      ...rest,
      clock: deps.clock,
      concurrencyMax: CHECKS_MAX,
      find: (_now, without, limit) => pendingUploads(attachments, without, limit),
      act: (id, context, stopping) => checkAttachment(deps, id, context, stopping),
    }),
    pollingWorker({
      ...removing,
      find: (now, without, limit) => endedUploads(attachments, now, without, limit),
      act: (id, context) => expireUpload(deps, id, context),
    }),
    pollingWorker({
      ...removing,
      find: (now, without, limit) => messagesWithOldFiles(attachmentUse, now, without, limit),
      act: (id, context) => expireEmailFiles(deps, id, context),
    }),
  ];
}
