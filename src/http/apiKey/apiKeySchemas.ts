import { type Static, Type } from "@sinclair/typebox";
import { SCOPES } from "../../domain/apiKey/scopes.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { Cursor, DateTime, Limit, NoQuery, Nullable, Text } from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";

const Scope = Type.Union(SCOPES.map((scope) => Type.Literal(scope)));
const Scopes = Type.Array(Scope, { minItems: 1, uniqueItems: true, maxItems: SCOPES.length });

const BOUND_ITEMS_MAX = 100;

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
    senders: Type.Optional(
      Nullable(
        Type.Array(Text({ minLength: 1, maxLength: ADDRESS_CHARACTERS_MAX }), {
          minItems: 1,
          maxItems: BOUND_ITEMS_MAX,
          description:
            "Addresses and domains that it may send from; absent or null: all of the workspace. A domain is exactly that " +
            "one. It then cancels and erases messages from those alone.",
        }),
      ),
    ),
    client_ranges: Type.Optional(
      Nullable(
        Type.Array(Text({ minLength: 1, maxLength: 49 }), {
          minItems: 1,
          maxItems: BOUND_ITEMS_MAX,
          description:
            "Client addresses, or ranges of them in CIDR notation, that it is accepted from; absent or null: all. What a " +
            "proxy says of a client counts where the proxy is one of TRUSTED_PROXIES.",
        }),
      ),
    ),
  },
  { additionalProperties: false, examples: [{ name: "Shop", scopes: ["email:send", "email:read"] }] },
);

export type IssueApiKeyBody = Static<typeof IssueApiKeyBody>;

export const OVERLAP_SECONDS_DEFAULT = 86_400;
const OVERLAP_SECONDS_MAX = 2_592_000;

export const RotateApiKeyBody = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        default: OVERLAP_SECONDS_DEFAULT,
        description: "How long the old key goes on, unless it ends sooner by itself.",
      }),
    ),
  },
  { additionalProperties: false, examples: [{ overlap_seconds: 3_600 }] },
);

export const RevokeApiKeyBody = Type.Object(
  {
    with_children: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Revokes what it has issued or was rotated to as well, and what those have.",
      }),
    ),
  },
  { additionalProperties: false, examples: [{ with_children: true }] },
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
  last_used_at: Nullable(
    Type.String({
      format: "date-time",
      description:
        "The beginning of the hour in which it was let in last; null: never. By other instances: within a minute.",
    }),
  ),
  issued_by: Nullable(Type.String({ description: "The id of the key that issued it; null: the operator." })),
  rotated_from: Nullable(Type.String({ description: "The id of the key that it took the place of." })),
  senders: Nullable(Type.Array(Type.String(), { description: "What it may send from; null: all." })),
  client_ranges: Nullable(
    Type.Array(Type.String(), { description: "Where it is accepted from; null: everywhere." }),
  ),
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
      "A key issues only what it holds itself, scopes and senders and ranges (else FORBIDDEN), and none that outlives it. Every request " +
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
      "Within a second it opens nothing on any instance. A key may revoke itself. A repeat changes nothing. What it has " +
      "issued stays, unless `with_children` says otherwise.",
    tag,
    query: NoQuery,
    body: RevokeApiKeyBody,
    isBodyOptional: true,
    success: { status: 200, schema: ApiKey },
    problems: ["NOT_FOUND"],
  },
  rotateApiKey: {
    params: KeyParams,
    summary: "Rotate an API key",
    description:
      "Issues a key that may do what this one may, and lets this one end after the overlap. The key that asks must hold " +
      "all of that itself; a key may rotate itself. Every request makes a new key: after an answer that was lost, revoke " +
      "what the list shows.",
    tag,
    query: NoQuery,
    body: RotateApiKeyBody,
    isBodyOptional: true,
    success: { status: 201, schema: IssuedApiKey },
    problems: ["NOT_FOUND", "API_KEY_NOT_ACTIVE", "API_KEY_LIMIT_REACHED"],
  },
} satisfies Operations;
