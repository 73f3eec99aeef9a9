import { Type } from "@sinclair/typebox";
import type { ApiKeyRow } from "../../../projections/apiKeys.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { SCOPES } from "../../domain/apiKey/scopes.ts";
import { keyStatus } from "../../domain/apiKey/state.ts";
import { API_KEY_ID } from "../../kernel/crypto/apiKeyFormat.ts";
import { epochMs, rfc3339 } from "../../kernel/time.ts";
import { Closed, DateTime, FreeText, Nullable, OneOf, Time } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";
import { withErrorText } from "../body/validation.ts";

export const Scope = OneOf(SCOPES);
export const ApiKeyId = withErrorText(
  "must be the id of a key: 12 letters and digits",
  Type.String({ pattern: `^${API_KEY_ID}$`, examples: ["4fQ9sXb2LmZk"] }),
);

const fields = {
  id: ApiKeyId,
  object: Type.Literal("api_key"),
  name: Type.String(),
  scopes: Type.Array(Scope, { uniqueItems: true }),
  status: OneOf(["active", "expired", "revoked"]),
  expires_at: Nullable(Time("Null: it does not expire.")),
  created_at: DateTime,
  last_used_at: Nullable(
    Time(
      "The beginning of the hour in which it was last accepted; null: never. Uses on other instances show within a minute.",
    ),
  ),
  issued_by: Nullable(FreeText("The id of the key that issued it; null: the operator.")),
  test: Type.Boolean({ description: "Whether it is a test key, whose mail is only simulated." }),
  rotated_from: Nullable(FreeText("The id of the key that it replaced.")),
  senders: Nullable(Type.Array(Type.String(), { description: "What it may send from; null: all." })),
  client_ranges: Nullable(
    Type.Array(Type.String(), { description: "Where it is accepted from; null: everywhere." }),
  ),
  person: Nullable(
    FreeText("Who logs in to the dashboard with it, in lower case; null: whoever has the key itself."),
  ),
};

export const ApiKey = Closed(fields, { $id: "ApiKey" });

export const IssuedApiKey = Closed(
  {
    ...fields,
    key: Nullable(
      Type.String({
        pattern: "^pl_(test_)?[0-9A-Za-z]{50}$",
        examples: [`pl_${"0".repeat(50)}`],
        description: "The key itself. Nothing but this answer ever shows it. Null with a `person`.",
      }),
    ),
    missing_senders: Type.Array(Type.String(), {
      description:
        "Those of `senders` that the workspace lacks: the key cannot send from them, or from a domain only where its address is a sender.",
    }),
  },
  { $id: "IssuedApiKey" },
);

/** The later of the log's last use and the one this instance has seen but not yet written. */
function lastUseOf({ apiKeyLastUse }: Dependencies, { id, lastUsedAt }: ApiKeyRow): string | null {
  const seen = apiKeyLastUse.lastSeen(id);
  if (seen === null || (lastUsedAt !== null && epochMs(lastUsedAt) >= seen)) return lastUsedAt;
  return rfc3339(seen);
}

const wholeKeyJson = jsonOfSchema(ApiKey);

export function apiKeyJson(deps: Dependencies, row: ApiKeyRow) {
  const expiresAt = row.expiresAt === null ? null : epochMs(row.expiresAt);
  return wholeKeyJson({
    ...row,
    status: keyStatus({ revoked: row.revoked, expiresAt }, deps.clock.now()),
    lastUsedAt: lastUseOf(deps, row),
    test: row.isTest,
    issuedBy: row.issuerId,
  });
}
