import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { QuotaUnit } from "../../quota/dailyQuota.ts";
import { directFilesOwner } from "../../storage/storageReservationQueue.ts";
import { acceptEmail } from "./acceptEmail.ts";
import { directBytes } from "./acceptedAttachments.ts";
import type { SendOutcome, SendRefusal } from "./sendOutcome.ts";
import { isSimulated, ownerOf, type PreparedSend, refused } from "./validatedSend.ts";

const STORAGE_EXCEEDED: SendRefusal = {
  ...refused("STORAGE_LIMIT_EXCEEDED"),
  detail:
    "the workspace's quota for temporary files (storage_bytes) cannot take the direct files; test mail has its own",
};

const LARGER_THAN_STORAGE: SendRefusal = {
  ...refused("STORAGE_LIMIT_EXCEEDED"),
  detail: "the direct files are larger than the workspace's whole quota for temporary files (storage_bytes)",
  isPermanent: true,
};

/** Stands in for a unit of the daily limit if the message does not count. */
const NO_UNIT = Symbol("no unit of the daily limit");

/** What a send holds of the limits, besides the room for its files, until it is accepted. */
export interface ReservedQuotas {
  readonly kind: "reserved";
  readonly unit: QuotaUnit | typeof NO_UNIT;
}

/** Reserves what a send needs of the limits; test mail has its own. After a refusal it holds nothing. */
export async function reserveQuotas(
  deps: Dependencies,
  send: PreparedSend,
): Promise<ReservedQuotas | SendRefusal> {
  const { workspaceId, context, id } = send;
  const { accountId, owner, bytes } = filesOf(send);
  const room = bytes === 0 ? "reserved" : await deps.storage.reserve(accountId, owner, bytes, context);
  if (room !== "reserved") return room === "noRoom" ? STORAGE_EXCEEDED : LARGER_THAN_STORAGE;
  let held = false;
  try {
    const unit = isSimulated(send) ? NO_UNIT : await deps.quota.take(workspaceId, id, context.at);
    if (unit === null) return refused("DAILY_LIMIT_REACHED");
    held = true;
    return { kind: "reserved", unit };
  } finally {
    if (!held) await releaseFiles(deps, send);
  }
}

/** Returns what a send holds of the limits, because it is not accepted. */
export async function returnQuotas(
  deps: Dependencies,
  send: PreparedSend,
  { unit }: ReservedQuotas,
): Promise<void> {
  try {
    if (unit !== NO_UNIT) await deps.quota.returnUnit(send.workspaceId, unit);
  } finally {
    await releaseFiles(deps, send);
  }
}

/** Accepts a send that holds what it needs of the limits, and returns that unless it was used. */
export async function acceptReserved(
  deps: Dependencies,
  send: PreparedSend,
  reserved: ReservedQuotas,
): Promise<SendOutcome> {
  let used = true;
  try {
    const outcome = await acceptEmail(deps, send);
    used = outcome.kind === "accepted" && !outcome.replayed;
    return outcome;
  } catch (error) {
    // An outage must not use up the daily limit. If the outcome is unknown, the message may be there, so it counts, and
    // the room for its files stays reserved until the stale reservations are settled.
    used = !(error instanceof StoreError) || error.failure === "outcomeUnknown";
    throw error;
  } finally {
    if (!used) await returnQuotas(deps, send, reserved);
  }
}

async function releaseFiles(deps: Dependencies, send: PreparedSend): Promise<void> {
  const { accountId, owner, bytes } = filesOf(send);
  if (bytes > 0) await deps.storage.release(accountId, owner, send.context);
}

/** The reservation of a send's direct files in the storage quota. */
function filesOf(send: PreparedSend) {
  return {
    accountId: mailOwnerId(ownerOf(send)),
    owner: directFilesOwner(send.id, send.contentEventId),
    bytes: directBytes(send.resolved),
  };
}
