import type { Context } from "elysia";
import { OVERLAP_SECONDS_DEFAULT } from "../../domain/apiKey/decisions.ts";
import { invariant } from "../../kernel/assert.ts";
import { isApiKeyId } from "../../kernel/crypto/apiKeyFormat.ts";
import { checkRules } from "../body/validation.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import {
  existingKey,
  issuedKey,
  issueOnRequest,
  type NewKey,
  pageOfApiKeys,
  renameOnRequest,
  revokeOnRequest,
  rotateOnRequest,
} from "./apiKeyHandlers.ts";
import { apiKeyOperations, RenameApiKeyBody } from "./apiKeyOperations.ts";
import { apiKeyJson } from "./apiKeyResource.ts";

/** Issuing, listing, renaming, rotating and revoking the keys of a workspace. */
export function apiKeysController(options: ControllerOptions) {
  const { deps, basePath } = options;
  const issued = (request: Request, set: Context["set"], made: NewKey | null) => {
    invariant(made, "a request that gives no id is no repeat");
    set.headers.location = `${basePath}/api/v1/api-keys/${made.id}`;
    return issuedKey(options, principalOf(request).workspaceId, made);
  };

  return operationController(deps, apiKeyOperations, {
    issueApiKey: async ({ body, request, set }) => {
      const context = commandContextOf(request, deps);
      return issued(request, set, await issueOnRequest(options, principalOf(request), { body }, context));
    },
    rotateApiKey: async ({ body, params: { id }, request, set }) => {
      const { overlap_seconds: overlapSeconds = OVERLAP_SECONDS_DEFAULT } = body;
      const rotation = { id, overlapSeconds };
      const context = commandContextOf(request, deps);
      return issued(request, set, await rotateOnRequest(options, principalOf(request), rotation, context));
    },
    listApiKeys: async ({ query, request }) => {
      const { workspaceId } = principalOf(request);
      const page = await pageOfApiKeys(options, workspaceId, pageRequest(query, isApiKeyId));
      return pageJson(page, (row) => apiKeyJson(deps, row));
    },
    getApiKey: async ({ params: { id }, request }) =>
      existingKey(options, principalOf(request).workspaceId, id),
    renameApiKey: async ({ body, params: { id }, request }) => {
      checkRules(RenameApiKeyBody, body);
      const context = commandContextOf(request, deps);
      await renameOnRequest(options, { id, name: body.name }, context);
      return existingKey(options, context.workspaceId, id);
    },
    revokeApiKey: async ({ body, params: { id }, request }) => {
      const context = commandContextOf(request, deps);
      await revokeOnRequest(options, { id, withChildren: body.with_children ?? false }, context);
      return existingKey(options, context.workspaceId, id);
    },
  });
}
