import { listErasures } from "../../../projections/erasures.ts";
import type { PageQuery } from "../../../projections/keysetPagination.ts";
import { type ErasureView, readErasure } from "../../commands/erasure/erasureRequests.ts";
import { isUuid } from "../../kernel/ids.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { caughtUpPage, type ListSource, lookUpEach } from "../lists/caughtUpReads.ts";
import type { Page } from "../lists/cursorPaging.ts";
import { Problem } from "../server/problem.ts";

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
