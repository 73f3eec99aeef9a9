import { requestPersonErasure } from "../../commands/erasure/erasureRequests.ts";
import { addressIn } from "../body/commonFaults.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { existingErasure, pageOfErasures } from "./erasureHandlers.ts";
import { erasureOperations } from "./erasureOperations.ts";
import { erasureJson } from "./erasureResource.ts";

/** Requests to erase a person, and their progress. */
export function erasuresController(options: ControllerOptions) {
  const { deps, basePath } = options;
  return operationController(deps, erasureOperations, {
    requestErasure: async ({ body, caller, set }) => {
      const address = addressIn("/address", body.address);
      const context = caller.commandContext();
      const id = await requestPersonErasure(deps, address, context, body.reference ?? null);
      set.headers.location = `${basePath}/api/v1/erasures/${id}`;
      return erasureJson(await existingErasure(deps.store, context.workspaceId, id));
    },
    listErasures: async ({ query, caller }) =>
      pageJson(await pageOfErasures(options, caller.workspaceId, pageRequest(query)), erasureJson),
    getErasure: async ({ params, caller }) =>
      erasureJson(await existingErasure(deps.store, caller.workspaceId, params.id)),
  });
}
