import { requestPersonErasure } from "../../commands/erasure/erasureRequests.ts";
import { addressIn } from "../body/commonFaults.ts";
import { checkRules } from "../body/validation.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { existingErasure, pageOfErasures } from "./erasureHandlers.ts";
import { erasureOperations, RequestErasureBody } from "./erasureOperations.ts";
import { erasureJson } from "./erasureResource.ts";

/** Requests to erase a person, and their progress. */
export function erasuresController(options: ControllerOptions) {
  const { deps, basePath } = options;
  return operationController(deps, erasureOperations, {
    requestErasure: async ({ body, request, set }) => {
      checkRules(RequestErasureBody, body);
      const address = addressIn("/address", body.address);
      const context = commandContextOf(request, deps);
      const id = await requestPersonErasure(deps, address, context, body.reference ?? null);
      set.headers.location = `${basePath}/api/v1/erasures/${id}`;
      return erasureJson(await existingErasure(deps.store, context.workspaceId, id));
    },
    listErasures: async ({ query, request }) => {
      const { workspaceId } = principalOf(request);
      const page = await pageOfErasures(options, workspaceId, pageRequest(query));
      return pageJson(page, erasureJson);
    },
    getErasure: async ({ params, request }) =>
      erasureJson(await existingErasure(deps.store, principalOf(request).workspaceId, params.id)),
  });
}
