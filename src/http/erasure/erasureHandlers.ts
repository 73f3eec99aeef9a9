import { listErasures } from "../../../projections/erasures.ts";
import type { PageQuery } from "../../../projections/keysetPagination.ts";
import { type ErasureView, readErasure } from "../../commands/erasure/erasureRequests.ts";
import { referenceFault } from "../../domain/erasure/referenceFault.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { fault, NO_FAULTS } from "../body/commonFaults.ts";
import { caughtUpPage, type ListSource, lookUpEach } from "../lists/caughtUpReads.ts";
import type { Page } from "../lists/cursorPaging.ts";
import { found, idOfPath, type ProblemDetail } from "../server/problem.ts";

export function referenceFaults(pointer: string, reference: unknown): readonly ProblemDetail[] {
  const message = typeof reference === "string" ? referenceFault(reference) : null;
  return message === null ? NO_FAULTS : fault(pointer, message);
}

/** A request of the workspace to erase a person. Throws NOT_FOUND. */
export async function existingErasure(
  store: EventStore,
  workspaceId: string,
  id: string,
): Promise<ErasureView> {
  const view = await readErasure(store, idOfPath(id));
  return found(view?.erasure.workspaceId === workspaceId ? view : null);
}

/** A page of a workspace's requests, newest first. */
export async function pageOfErasures(
  { deps, readModel }: ListSource,
  workspaceId: string,
  request: PageQuery,
): Promise<Page<ErasureView>> {
  const erasures = readModel("erasures");
  const rows = await caughtUpPage(erasures, { workspaceId, ...request }, listErasures);
  return lookUpEach(erasures, rows, ({ id }) => existingErasure(deps.store, workspaceId, id));
}
