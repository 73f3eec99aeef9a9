import { listErasures } from "../../../projections/erasures.ts";
import {
  type ErasureView,
  readErasure,
  requestPersonErasure,
} from "../../commands/erasure/erasureRequests.ts";
import { isUuid } from "../../kernel/ids.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { caughtUpRows, type ReadModel } from "../lists/caughtUpReads.ts";
import { pageJson, pageOf, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { invalid, Problem } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { erasureOperations } from "./erasureOperations.ts";
import { erasureJson } from "./erasureResource.ts";

interface ErasuresOptions extends ControllerOptions {
  /** The read model `erasures`. */
  readonly erasures: ReadModel;
}

/** Asking that a person be erased, and what became of it. */
export function erasuresController({ deps, basePath, erasures }: ErasuresOptions) {
  const existing = async (request: Request, id: string): Promise<ErasureView> => {
    const view = isUuid(id) ? await readErasure(deps.store, id.toLowerCase()) : null;
    if (view?.erasure.workspaceId !== principalOf(request).workspaceId) throw new Problem("NOT_FOUND");
    return view;
  };

  return operationController(deps, erasureOperations, {
    requestErasure: async ({ body, request, set }) => {
      const address = parseAddress(body.address);
      if ("invalid" in address) throw invalid("/address", address.invalid);
      const id = await requestPersonErasure(deps, address, commandContextOf(request, deps));
      set.status = 202;
      set.headers.location = `${basePath}/api/v1/erasures/${id}`;
      return erasureJson(await existing(request, id));
    },
    listErasures: async ({ query, request }) => {
      const { workspaceId } = principalOf(request);
      const asked = pageRequest(query);
      const db = await caughtUpRows(erasures);
      const { shown: rows, nextCursor } = pageOf(asked, (page) => listErasures(db, { workspaceId, ...page }));
      const shown = await erasures.scheduler.mapEach(rows, ({ id }) => existing(request, id));
      return pageJson({ shown, nextCursor }, erasureJson);
    },
    getErasure: async ({ params, request }) => erasureJson(await existing(request, params.id)),
  });
}
