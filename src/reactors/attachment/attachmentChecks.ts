import { pendingUploads } from "../../../projections/attachments.ts";
import { checkAttachment } from "../../commands/attachment/checkAttachment.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { type PollingWork, type PollingWorker, pollingWorker } from "../worker/pollingWorker.ts";

interface AttachmentChecksOptions extends Pick<PollingWork, "worker" | "random" | "onTrouble"> {
  readonly deps: Dependencies;
  /** The read model `attachments`. */
  readonly attachments: ReadDatabase;
}

/** Files checked concurrently; each is held in memory whole. */
const CHECKS_MAX = 2;

/** Inspects uploads and records what they are. They stay pending while the malware scanner is unavailable. */
export function attachmentChecks({ deps, attachments, ...rest }: AttachmentChecksOptions): PollingWorker {
  return pollingWorker({
    ...rest,
    clock: deps.clock,
    concurrencyMax: CHECKS_MAX,
    find: (_now, without, limit) => pendingUploads(attachments, without, limit),
    act: (id, context) => checkAttachment(deps, id, context),
  });
}
