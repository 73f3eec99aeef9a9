import { endedUploads } from "../../../projections/attachments.ts";
import { messagesWithOldFiles } from "../../../projections/attachmentUse.ts";
import { expireEmailFiles, expireUpload } from "../../commands/attachment/expireFiles.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { jumpProofTime } from "../worker/jumpProofTime.ts";
import { type PollingWork, type PollingWorker, pollingWorker } from "../worker/pollingWorker.ts";

interface AttachmentRetentionOptions extends Pick<PollingWork, "worker" | "random" | "onTrouble"> {
  readonly deps: Dependencies;
  /** The read model `attachments`. */
  readonly attachments: ReadDatabase;
  /** The read model `attachment-use`. */
  readonly attachmentUse: ReadDatabase;
}

/** Concurrent removals of each kind. */
const REMOVALS_MAX = 2;

/**
 * Expires uploads whose time is over, and deletes their bytes once no message is to be sent from them. Also deletes
 * the files of messages that have ended and are past their retention.
 */
export function attachmentRetention(options: AttachmentRetentionOptions): readonly PollingWorker[] {
  const { deps, attachments, attachmentUse, ...rest } = options;
  const clock = { now: jumpProofTime(deps.clock), monotonicMs: () => deps.clock.monotonicMs() };
  const shared = { ...rest, clock, concurrencyMax: REMOVALS_MAX };
  return [
    pollingWorker({
      ...shared,
      find: (now, without, limit) => endedUploads(attachments, now, without, limit),
      act: (id, context) => expireUpload(deps, id, context),
    }),
    pollingWorker({
      ...shared,
      find: (now, without, limit) => messagesWithOldFiles(attachmentUse, now, without, limit),
      act: (id, context) => expireEmailFiles(deps, id, context),
    }),
  ];
}
