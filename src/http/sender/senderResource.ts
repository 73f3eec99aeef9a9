import { Type } from "@sinclair/typebox";
import type { Dependencies } from "../../commands/dependencies.ts";
import { domainRecordOf } from "../../commands/sender/domainRecord.ts";
import type { SenderView } from "../../commands/sender/readSender.ts";
import { type Sender as SenderState, senderStatus } from "../../domain/sender/state.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { Closed, DateTime, FreeText, Nullable, OneOf, type ResponseOf, Time } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";
import { withErrorText } from "../body/validation.ts";

export const SenderId = withErrorText(
  "must be the id of a sender: 64 digits 0 to 9 and letters a to f",
  Type.String({
    pattern: "^[0-9a-f]{64}$",
    examples: ["5d".repeat(32)],
    description: "The same for as long as the log exists.",
  }),
);

const DnsRecord = Closed({
  type: Type.Literal("TXT"),
  name: FreeText("_postledger. and the domain."),
  value: FreeText("Bound to the workspace: another workspace's record does not count."),
});

const Verification = Closed(
  {
    code: Type.String({
      pattern: "^[2-9B-DF-HJ-KMNP-TV-XZ]{4}-[2-9B-DF-HJ-KMNP-TV-XZ]{4}$",
      description: "Also in the mail and on its page: show it, so that the address' owner can compare.",
      examples: ["K7QX-2M9P"],
    }),
    requested_at: DateTime,
    expires_at: DateTime,
  },
  { description: "The newest link that was mailed; null once it is over." },
);

export const Sender = Closed(
  {
    id: SenderId,
    object: Type.Literal("sender"),
    kind: OneOf(["address", "domain"]),
    address: Nullable(FreeText("Null of a domain.")),
    domain: Nullable(FreeText("Null of an address.")),
    display_name: Nullable(Type.String()),
    status: OneOf(["unverified", "verified", "disabled"]),
    verified_by: Nullable(OneOf(["operator", "bootstrap", "email", "dns"])),
    record_missing_since: Nullable(
      Time(
        "Since when the DNS record of a verified domain is known to be missing: a warning, the domain can still send.",
      ),
    ),
    verification: Nullable(Verification),
    dns_record: Nullable(DnsRecord),
    created_at: DateTime,
    updated_at: DateTime,
  },
  { $id: "Sender" },
);

/** The newest verification link of an unverified address, unless it has expired. */
function verificationJson(
  { keys, clock }: Dependencies,
  id: string,
  { verifiedBy, requests }: SenderState,
): ResponseOf<typeof Verification> | null {
  const newest = requests.at(-1);
  if (verifiedBy !== null || newest === undefined || clock.now() >= newest.expiresAt) return null;
  return {
    code: keys.verificationCode(id, newest.id),
    requested_at: rfc3339(newest.requestedAt),
    expires_at: rfc3339(newest.expiresAt),
  };
}

const wholeSenderJson = jsonOfSchema(Sender);

export function senderJson(deps: Dependencies, { id, sender, createdAt, updatedAt }: SenderView) {
  const { workspaceId, name, recordMissingSince } = sender;
  const isDomain = sender.kind === "domain";
  return wholeSenderJson({
    ...{ ...sender, id, createdAt, updatedAt },
    address: isDomain ? null : name,
    domain: isDomain ? name : null,
    status: senderStatus(sender),
    recordMissingSince: recordMissingSince === null ? null : rfc3339(recordMissingSince),
    verification: verificationJson(deps, id, sender),
    dnsRecord: isDomain ? { type: "TXT", ...domainRecordOf(deps.keys, workspaceId, name) } : null,
  });
}
