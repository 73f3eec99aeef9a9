import { listErasures } from "../../../projections/erasures.ts";
import type { PageQuery } from "../../../projections/keysetPagination.ts";
import { type ErasureView, readErasure } from "../../commands/erasure/erasureRequests.ts";
import { referenceFault } from "../../domain/erasure/erasureReference.ts";
import { isUuid } from "../../kernel/ids.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { fault, NO_FAULTS } from "../body/commonFaults.ts";
import { caughtUpPage, type ListSource, lookUpEach } from "../lists/caughtUpReads.ts";
import type { Page } from "../lists/cursorPaging.ts";
import { Problem, type ProblemDetail } from "../server/problem.ts";

/** Faults of the reference of a request. */
export function referenceFaults(pointer: string, reference: unknown): readonly ProblemDetail[] {
  const found = typeof reference === "string" ? referenceFault(reference) : null;
  return found === null ? NO_FAULTS : fault(pointer, found);
}

/** A request of the workspace to erase a person. Throws NOT_FOUND. */
export async function existingErasure(
  store: EventStore,
  workspaceId: string,
  id: string,
): Promise<ErasureView> {
  const view = isUuid(id) ? await readErasure(store, id.toLowerCase()) : null;
  if (view?.erasure.workspaceId !== workspaceId) throw new Problem("NOT_FOUND");
  return view;
}

/** A page of a workspace's requests, newest first. */
export async function pageOfErasures(
  { deps, readModel }: ListSource,
  workspaceId: string,
  request: PageQuery,
): Promise<Page<ErasureView>> {
  const erasures = readModel("erasures");
  const rows = await caughtUpPage(erasures, request, (db, page) =>
    listErasures(db, { workspaceId, ...page }),
  );
  return lookUpEach(erasures, rows, ({ id }) => existingErasure(deps.store, workspaceId, id));
}
