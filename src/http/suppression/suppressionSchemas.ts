import { type Static, Type } from "@sinclair/typebox";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { Cursor, DateTime, Limit, NoQuery, Nullable, Text, Uuid } from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";

const NOTE_CHARACTERS_MAX = 500;

/** How addresses are compared, for the reader of the reference. */
const COMPARED =
  "Addresses are compared with the domain in lower-case ASCII (IDNA) and the local part in lower case: " +
  "whoever is suppressed in one spelling is suppressed in all.";

export const AddSuppressionBody = Type.Object(
  {
    address: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "One bare address." }),
    note: Type.Optional(
      Nullable(Text({ maxLength: NOTE_CHARACTERS_MAX, description: "Why, in your own words." })),
    ),
  },
  { additionalProperties: false, examples: [{ address: "ana@example.com", note: "Asked for it by phone." }] },
);

/** Why an address is suppressed. */
export const SuppressionReason = Type.Union([Type.Literal("bounce"), Type.Literal("manual")], {
  description: "`bounce`: the address was refused for good by its own server; `manual`: added by hand.",
});

export const ListSuppressionsQuery = Type.Object(
  {
    reason: Type.Optional(SuppressionReason),
    created_from: Type.Optional(Type.String({ description: "RFC 3339; included." })),
    created_before: Type.Optional(Type.String({ description: "RFC 3339; not included." })),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type ListSuppressionsQuery = Static<typeof ListSuppressionsQuery>;

const Suppression = Type.Object(
  {
    id: Uuid,
    object: Type.Literal("suppression"),
    address: Nullable(
      Type.String({
        description: "As it was given, the domain in lower-case ASCII; null once it was erased.",
      }),
    ),
    reason: SuppressionReason,
    note: Nullable(Type.String({ description: "What was written when it was added by hand." })),
    email_id: Nullable(Type.String({ format: "uuid", description: "The message whose bounce led to it." })),
    created_at: DateTime,
  },
  { additionalProperties: false },
);

const SuppressionList = Type.Object(
  { data: Type.Array(Suppression), next_cursor: Nullable(Type.String()) },
  { additionalProperties: false },
);

const tag = "Suppressions";

export const suppressionOperations = {
  addSuppression: {
    summary: "Suppress a recipient",
    description:
      "Mail to the address ends as `suppressed`, what is queued already as well. A suppression that is there stays " +
      `as it is and is answered with 200. ${COMPARED}`,
    tag,
    body: AddSuppressionBody,
    success: { status: 201, schema: Suppression },
    also: [{ status: 200, schema: Suppression, description: "The address was suppressed already." }],
    problems: [],
  },
  listSuppressions: {
    summary: "List suppressed recipients",
    description: "Newest first.",
    tag,
    query: ListSuppressionsQuery,
    success: { status: 200, schema: SuppressionList },
    problems: ["INVALID_REQUEST"],
  },
  getSuppression: {
    summary: "Look up a suppression by its address",
    description: `The address stands percent-encoded in the path. ${COMPARED}`,
    tag,
    query: NoQuery,
    success: { status: 200, schema: Suppression },
    problems: ["NOT_FOUND"],
  },
  removeSuppression: {
    summary: "Remove a suppression",
    description:
      "New mail to the address is delivered again; what was suppressed stays so. The address stands " +
      `percent-encoded in the path. ${COMPARED}`,
    tag,
    query: NoQuery,
    success: { status: 204, schema: null },
    problems: ["NOT_FOUND"],
  },
} satisfies Operations;
