import { type Static, Type } from "@sinclair/typebox";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { Cursor, Limit, NoQuery, Nullable, Text } from "../body/commonSchemas.ts";
import { inWords } from "../body/validation.ts";
import type { Operations } from "../server/operation.ts";

const TAG = "Senders";
const DOMAIN_CHARACTERS_MAX = 253;
const DISPLAY_NAME_CHARACTERS_MAX = 200;

export const SenderId = inWords(
  "must be the id of a sender: 64 digits 0 to 9 and letters a to f",
  Type.String({
    pattern: "^[0-9a-f]{64}$",
    examples: ["5d".repeat(32)],
    description: "The same for as long as the log exists.",
  }),
);

export const AddSenderBody = Type.Object(
  {
    address: Type.Optional(
      Text({
        minLength: 1,
        maxLength: ADDRESS_CHARACTERS_MAX,
        description: "One bare address. Exactly one of address and domain is given.",
      }),
    ),
    domain: Type.Optional(
      Text({
        minLength: 1,
        maxLength: DOMAIN_CHARACTERS_MAX,
        description: "A domain: once it is verified, every address at exactly it can send.",
      }),
    ),
    display_name: Type.Optional(
      Nullable(
        Text({
          minLength: 1,
          maxLength: DISPLAY_NAME_CHARACTERS_MAX,
          description: "Stands beside the address in From. Only with address; no control characters.",
        }),
      ),
    ),
  },
  {
    additionalProperties: false,
    examples: [{ address: "billing@example.com", display_name: "Example billing" }],
  },
);
export type AddSenderBody = Static<typeof AddSenderBody>;

export const VerifySenderBody = Type.Object(
  {
    method: Type.Union([Type.Literal("email"), Type.Literal("dns")], {
      description: "email for an address, dns for a domain.",
    }),
  },
  { additionalProperties: false, examples: [{ method: "email" }] },
);

export const ListSendersQuery = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

const DnsRecord = Type.Object(
  {
    type: Type.Literal("TXT"),
    name: Type.String({ description: "_postledger. and the domain." }),
    value: Type.String({ description: "Bound to the workspace: another workspace's record does not count." }),
  },
  { additionalProperties: false },
);

const Verification = Type.Object(
  {
    code: Type.String({
      pattern: "^[2-9B-DF-HJ-KMNP-TV-XZ]{4}-[2-9B-DF-HJ-KMNP-TV-XZ]{4}$",
      description: "Stands in the mail and on its page too: show it, so that the address' owner can compare.",
      examples: ["K7QX-2M9P"],
    }),
    requested_at: Type.String({ format: "date-time" }),
    expires_at: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false, description: "The newest link that was mailed; null once it is over." },
);

export const SenderResource = Type.Object(
  {
    id: SenderId,
    object: Type.Literal("sender"),
    kind: Type.Union([Type.Literal("address"), Type.Literal("domain")]),
    address: Nullable(Type.String({ description: "Null of a domain." })),
    domain: Nullable(Type.String({ description: "Null of an address." })),
    display_name: Nullable(Type.String()),
    status: Type.Union([Type.Literal("unverified"), Type.Literal("verified"), Type.Literal("disabled")]),
    verified_by: Nullable(
      Type.Union([
        Type.Literal("operator"),
        Type.Literal("bootstrap"),
        Type.Literal("email"),
        Type.Literal("dns"),
      ]),
    ),
    record_missing_since: Nullable(
      Type.String({
        format: "date-time",
        description:
          "Since when the DNS record of a verified domain is known to be missing: a warning, the domain can send all the same.",
      }),
    ),
    verification: Nullable(Verification),
    dns_record: Nullable(DnsRecord),
    created_at: Type.String({ format: "date-time" }),
    updated_at: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false },
);
export type SenderResource = Static<typeof SenderResource>;

const SenderList = Type.Object(
  { data: Type.Array(SenderResource), next_cursor: Nullable(Type.String()) },
  { additionalProperties: false },
);

const Page = Type.String({ description: "A page for people." });

const LINK_REFUSALS = [
  { status: 404, schema: Page, contentType: "text/html", description: "There is no such link." },
  { status: 410, schema: Page, contentType: "text/html", description: "The link was used, or is too old." },
] as const;

const Params = Type.Object({ id: SenderId });

/** What the operations on senders take and answer. */
export const senderOperations = {
  addSender: {
    summary: "Add a sending address or domain",
    description:
      "It cannot send before it is verified. Adding it again answers the sender that is there, unchanged.",
    tag: TAG,
    query: NoQuery,
    body: AddSenderBody,
    success: { status: 201, schema: SenderResource },
    also: [{ status: 200, schema: SenderResource, description: "It was there already." }],
    problems: [],
  },
  listSenders: {
    summary: "List senders, newest first",
    tag: TAG,
    query: ListSendersQuery,
    success: { status: 200, schema: SenderList },
    problems: ["INVALID_REQUEST"],
  },
  getSender: {
    params: Params,
    summary: "Read a sender",
    tag: TAG,
    query: NoQuery,
    success: { status: 200, schema: SenderResource },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  requestSenderVerification: {
    params: Params,
    summary: "Verify a sender",
    description:
      "email: mails a link to the address, which works once within 24 hours. The mail names the workspace and holds the " +
      "code that the answer shows. A workspace may have one mail in 10 minutes and five a UTC day for an address, and 20 " +
      "a UTC day in all; an address gets 20 a UTC day, and one more for each workspace that asks for the first time that " +
      "day, up to 100. dns: looks for the domain's record now. The answer is the " +
      "sender as it is afterwards; one that is verified already is answered as it is.",
    tag: TAG,
    query: NoQuery,
    body: VerifySenderBody,
    success: { status: 200, schema: SenderResource },
    problems: [
      "NOT_FOUND",
      "RECIPIENT_SUPPRESSED",
      "SENDER_VERIFICATION_UNAVAILABLE",
      "SENDER_VERIFICATION_FAILED",
    ],
  },
  disableSender: {
    params: Params,
    summary: "Disable a sender",
    description:
      "It cannot send, and its queued mail waits. A disabled address is not covered by its domain either.",
    tag: TAG,
    query: NoQuery,
    success: { status: 200, schema: SenderResource },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  enableSender: {
    params: Params,
    summary: "Enable a sender that was disabled",
    description: "One that was never verified stays unverified.",
    tag: TAG,
    query: NoQuery,
    success: { status: 200, schema: SenderResource },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  showSenderVerification: {
    summary: "The page that a verification link opens",
    description: "Changes nothing.",
    tag: TAG,
    success: { status: 200, schema: Page, contentType: "text/html" },
    also: LINK_REFUSALS,
    problems: [],
  },
  confirmSenderVerification: {
    summary: "Confirm a sending address",
    description: "What the page's button does.",
    tag: TAG,
    success: { status: 200, schema: Page, contentType: "text/html" },
    also: LINK_REFUSALS,
    problems: [],
  },
} satisfies Operations;
