import { Type } from "@sinclair/typebox";
import { OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX } from "../../domain/apiKey/decisions.ts";
import { displayNameFaults, memberRules } from "../body/commonFaults.ts";
import { Closed, ShownName } from "../body/commonSchemas.ts";
import { withRules } from "../body/validation.ts";
import { answersPage } from "../lists/listOperation.ts";
import { answersCreated, answersOk, operationsOf } from "../server/operation.ts";
import { ApiKey, ApiKeyId, IssuedApiKey } from "./apiKeyResource.ts";
import { IssueApiKeyBody } from "./issueApiKeyRequest.ts";

const RotateApiKeyBody = Closed(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        default: OVERLAP_SECONDS_DEFAULT,
        description: "How long the old key keeps working, unless it expires sooner.",
      }),
    ),
  },
  { examples: [{ overlap_seconds: 3_600 }] },
);

const RenameApiKeyBody = withRules(
  Closed({ name: ShownName("What it is for.") }, { examples: [{ name: "Shop, production" }] }),
  memberRules(({ name }) => displayNameFaults("/name", name)),
);

const RevokeApiKeyBody = Closed(
  {
    with_children: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Revokes what it has issued or was rotated to as well, and what those have.",
      }),
    ),
  },
  { examples: [{ with_children: true }] },
);

const KeyParams = Type.Object({ id: ApiKeyId });

export const apiKeyOperations = operationsOf("API keys", {
  issueApiKey: {
    summary: "Issue an API key",
    description:
      "A key issues only what it holds itself, scopes and senders and ranges (else FORBIDDEN), and none that outlives it. Every request " +
      "makes a new key: after an answer that was lost, revoke what the list shows.",
    body: IssueApiKeyBody,
    ...answersCreated(IssuedApiKey, "API_KEY_LIMIT_REACHED"),
  },
  listApiKeys: {
    summary: "List API keys",
    description: "Newest first, expired and revoked ones as well.",
    ...answersPage(ApiKey, {}),
  },
  getApiKey: {
    params: KeyParams,
    summary: "Read an API key",
    description: "What it is and may do; only the answer that issued it shows the key itself.",
    ...answersOk(ApiKey, "NOT_FOUND"),
  },
  renameApiKey: {
    params: KeyParams,
    summary: "Rename an API key",
    description: "The name is for people: the key itself, and what it may do, stay as they are.",
    body: RenameApiKeyBody,
    ...answersOk(ApiKey, "NOT_FOUND"),
  },
  revokeApiKey: {
    params: KeyParams,
    summary: "Revoke an API key",
    description:
      "Within a second it stops working on every instance. A key may revoke itself. A repeat changes nothing. What it has " +
      "issued stays, unless `with_children` says otherwise.",
    body: RevokeApiKeyBody,
    isBodyOptional: true,
    ...answersOk(ApiKey, "NOT_FOUND"),
  },
  rotateApiKey: {
    params: KeyParams,
    summary: "Rotate an API key",
    description:
      "Issues a key that may do what this one may, and lets this one end after the overlap. The key that asks must hold " +
      "all of that itself; a key may rotate itself. Every request makes a new key: after an answer that was lost, revoke " +
      "what the list shows.",
    body: RotateApiKeyBody,
    isBodyOptional: true,
    ...answersCreated(IssuedApiKey, "NOT_FOUND", "API_KEY_NOT_ACTIVE", "API_KEY_LIMIT_REACHED"),
  },
});
