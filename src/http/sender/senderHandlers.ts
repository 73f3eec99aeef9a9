import type { PageQuery } from "../../../projections/keysetPagination.ts";
import { countSenders, listSenders } from "../../../projections/senders.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { type NewSender, newSender, switchExistingSender } from "../../commands/sender/manageSender.ts";
import { readSender, type SenderView } from "../../commands/sender/readSender.ts";
import { senderIdOf } from "../../commands/sender/senderId.ts";
import { queueStreamWrite } from "../../commands/streamWriteQueue.ts";
import { SENDERS_MAX } from "../../domain/sender/decisions.ts";
import { invariant } from "../../kernel/assert.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import {
  caughtUpPage,
  caughtUpRowsIfInTime,
  type ListSource,
  lookUpEach,
  type ReadModel,
} from "../lists/caughtUpReads.ts";
import type { Page } from "../lists/cursorPaging.ts";
import { found, Problem } from "../server/problem.ts";

/** Adds a sender, or renames an existing one. Throws SENDER_LIMIT_REACHED. */
export async function addOrRenameSender(
  { deps, readModel }: ListSource,
  sender: NewSender,
  context: WorkspaceCommandContext,
) {
  const { workspaceId, name } = sender;
  const add = () => newSender(deps, sender, context);
  const isKnown = (await deps.senders.get(senderIdOf(deps.keys, workspaceId, name))) !== null;
  // One after the other, so each is counted before the next is added.
  const added = isKnown
    ? await add()
    : await queueStreamWrite(deps.store, `senders of ${workspaceId}`, async () => {
        await requireSendersBelowMax(readModel("senders"), workspaceId);
        return add();
      });
  invariant(added, "a key's workspace exists");
  return added;
}

async function requireSendersBelowMax(senders: ReadModel, workspaceId: string): Promise<void> {
  const count = countSenders(await caughtUpRowsIfInTime(senders), workspaceId, SENDERS_MAX);
  if (count < SENDERS_MAX) return;
  const detail = `the workspace has ${SENDERS_MAX} senders, disabled ones included: a domain counts as one, and sends from every address at it`;
  throw new Problem("SENDER_LIMIT_REACHED", { detail });
}

function isSenderId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** A sender of the workspace. Throws NOT_FOUND. */
export async function existingSender(
  deps: Dependencies,
  workspaceId: string,
  id: string,
): Promise<SenderView> {
  return found(isSenderId(id) ? await readSender(deps, workspaceId, id) : null);
}

/** A page of a workspace's senders, newest first. Addresses are only in the senders' own streams. */
export async function pageOfSenders(
  { deps, readModel }: ListSource,
  workspaceId: string,
  request: PageQuery,
): Promise<Page<SenderView>> {
  const senders = readModel("senders");
  const rows = await caughtUpPage(senders, { workspaceId, ...request }, listSenders);
  return lookUpEach(senders, rows, ({ id }) => existingSender(deps, workspaceId, id));
}

/** Disables or enables a sender of the workspace and returns its new state. Throws NOT_FOUND. */
export async function switchedSender(
  deps: Dependencies,
  id: string,
  to: "disabled" | "enabled",
  context: WorkspaceCommandContext,
): Promise<SenderView> {
  const view = await existingSender(deps, context.workspaceId, id);
  await switchExistingSender(deps, view.id, to, context);
  return existingSender(deps, context.workspaceId, view.id);
}
