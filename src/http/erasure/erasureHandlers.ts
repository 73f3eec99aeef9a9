import { listErasures } from "../../../projections/erasures.ts";
import type { PageQuery } from "../../../projections/keysetList.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { type ErasureView, readErasure } from "../../commands/erasure/erasureRequests.ts";
import { isUuid } from "../../kernel/ids.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { caughtUpPage, type ReadModel } from "../lists/caughtUpReads.ts";
import type { Page } from "../lists/cursorPaging.ts";
import { Problem } from "../server/problem.ts";

interface ErasuresOptions {
  readonly deps: Pick<Dependencies, "store">;
  /** The read model `erasures`. */
  readonly erasures: ReadModel;
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
  { deps, erasures }: ErasuresOptions,
  workspaceId: string,
  request: PageQuery,
): Promise<Page<ErasureView>> {
  const { shown: rows, nextCursor } = await caughtUpPage(erasures, request, (db, page) =>
    listErasures(db, { workspaceId, ...page }),
  );
  const shown = await erasures.scheduler.mapEach(rows, ({ id }) =>
    existingErasure(deps.store, workspaceId, id),
  );
  return { shown, nextCursor };
}
