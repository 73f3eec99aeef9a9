import type { Context } from "elysia";
import type { IssuedKey } from "../../commands/apiKey/issueApiKey.ts";
import { OVERLAP_SECONDS_DEFAULT } from "../../domain/apiKey/decisions.ts";
import { invariant } from "../../kernel/assert.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type Caller, type ControllerOptions, operationController } from "../server/operationController.ts";
import {
  existingKey,
  issuedKey,
  issueOnRequest,
  pageOfApiKeys,
  renameOnRequest,
  revokeOnRequest,
  rotateOnRequest,
} from "./apiKeyHandlers.ts";
import { apiKeyOperations } from "./apiKeyOperations.ts";
import { apiKeyJson } from "./apiKeyResource.ts";

/** Issuing, listing, renaming, rotating and revoking the keys of a workspace. */
export function apiKeysController(options: ControllerOptions) {
  const { deps, basePath } = options;
  const issued = ({ workspaceId }: Caller, set: Context["set"], made: IssuedKey | null) => {
    invariant(made, "a request that gives no id is no repeat");
    set.headers.location = `${basePath}/api/v1/api-keys/${made.id}`;
    return issuedKey(options, workspaceId, made);
  };

  return operationController(deps, apiKeyOperations, {
    issueApiKey: async ({ body, caller, set }) => {
      const { principal, commandContext } = caller;
      return issued(caller, set, await issueOnRequest(options, principal, { body }, commandContext()));
    },
    rotateApiKey: async ({ body, params: { id }, caller, set }) => {
      const { principal, commandContext } = caller;
      const { overlap_seconds: overlapSeconds = OVERLAP_SECONDS_DEFAULT } = body;
      const rotation = { id, overlapSeconds };
      return issued(caller, set, await rotateOnRequest(options, principal, rotation, commandContext()));
    },
    listApiKeys: async ({ query, caller }) => {
      const page = await pageOfApiKeys(options, caller.workspaceId, pageRequest(query));
      return pageJson(page, (row) => apiKeyJson(deps, row));
    },
    getApiKey: async ({ params: { id }, caller }) => existingKey(options, caller.workspaceId, id),
    renameApiKey: async ({ body, params: { id }, caller }) => {
      await renameOnRequest(options, { id, name: body.name }, caller.commandContext());
      return existingKey(options, caller.workspaceId, id);
    },
    revokeApiKey: async ({ body, params: { id }, caller }) => {
      const { with_children: withChildren = false } = body;
      await revokeOnRequest(options, { id, withChildren }, caller.commandContext());
      return existingKey(options, caller.workspaceId, id);
    },
  });
}
