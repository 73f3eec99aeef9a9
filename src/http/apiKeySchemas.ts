import { Type } from "@sinclair/typebox";
import { SCOPES } from "../domain/apiKey/scopes.ts";
import type { Operations } from "./operation.ts";
import { Cursor, DateTime, Limit, NoQuery, Nullable, Text } from "./schemas.ts";

const Scope = Type.Union(SCOPES.map((scope) => Type.Literal(scope)));
const Scopes = Type.Array(Scope, { minItems: 1, uniqueItems: true, maxItems: SCOPES.length });

export const IssueApiKeyBody = Type.Object(
  {
    name: Text({ minLength: 1, maxLength: 200, description: "What it is for." }),
    scopes: Scopes,
    expires_at: Type.Optional(
      Nullable(
        Type.String({
          format: "date-time",
          description: "RFC 3339, in the future; never when it is absent or null.",
        }),
      ),
    ),
  },
  { additionalProperties: false, examples: [{ name: "Shop", scopes: ["email:send", "email:read"] }] },
);

export const ListApiKeysQuery = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

const fields = {
  id: Type.String({ pattern: "^[0-9A-Za-z]{12}$", examples: ["4fQ9sXb2LmZk"] }),
  object: Type.Literal("api_key"),
  name: Type.String(),
  scopes: Type.Array(Scope, { uniqueItems: true }),
  status: Type.Union([Type.Literal("active"), Type.Literal("expired"), Type.Literal("revoked")]),
  expires_at: Nullable(Type.String({ format: "date-time", description: "Null: it does not expire." })),
  created_at: DateTime,
};

const ApiKey = Type.Object(fields, { additionalProperties: false });

const IssuedApiKey = Type.Object(
  {
    ...fields,
    key: Type.String({
      pattern: "^pl_[0-9A-Za-z]{50}$",
      examples: [`pl_${"0".repeat(50)}`],
      description: "The key itself. Nothing but this answer ever shows it.",
    }),
  },
  { additionalProperties: false },
);

const ApiKeyList = Type.Object(
  { data: Type.Array(ApiKey), next_cursor: Nullable(Type.String()) },
  { additionalProperties: false },
);

const tag = "API keys";

const KeyParams = Type.Object({
  id: Type.String({ pattern: "^[0-9A-Za-z]{12}$", examples: ["4fQ9sXb2LmZk"] }),
});

export const apiKeyOperations = {
  issueApiKey: {
    summary: "Issue an API key",
    description:
      "A key issues only scopes that it holds itself (else FORBIDDEN), and none that outlives it. Every request " +
      "makes a new key: after an answer that was lost, revoke what the list shows.",
    tag,
    body: IssueApiKeyBody,
    query: NoQuery,
    success: { status: 201, schema: IssuedApiKey },
    problems: ["API_KEY_LIMIT_REACHED"],
  },
  listApiKeys: {
    summary: "List API keys",
    description: "Newest first, expired and revoked ones as well.",
    tag,
    query: ListApiKeysQuery,
    success: { status: 200, schema: ApiKeyList },
    problems: ["INVALID_REQUEST"],
  },
  getApiKey: {
    params: KeyParams,
    summary: "Read an API key",
    description: "What it is and may do; the key itself is shown by the answer that issued it alone.",
    tag,
    query: NoQuery,
    success: { status: 200, schema: ApiKey },
    problems: ["NOT_FOUND"],
  },
  revokeApiKey: {
    params: KeyParams,
    summary: "Revoke an API key",
    description:
      "Within a second it opens nothing on any instance. A key may revoke itself. A repeat changes nothing.",
    tag,
    query: NoQuery,
    success: { status: 200, schema: ApiKey },
    problems: ["NOT_FOUND"],
  },
} satisfies Operations;
