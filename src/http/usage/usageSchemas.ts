import { type Static, Type } from "@sinclair/typebox";
import { Cursor, DateTime, Limit, Nullable, pageSchema, Text, Uuid } from "../body/commonSchemas.ts";
import { SenderId } from "../sender/senderSchemas.ts";
import type { Operations } from "../server/operation.ts";

/** The longest range of one request, by the size of its buckets. */
export const RANGE_DAYS_MAX = { hour: 31, day: 92 } as const;
/** The range of a request that names none, back from the present. */
export const RANGE_DAYS_DEFAULT = { hour: 1, day: 30 } as const;
const DOMAIN_CHARACTERS_MAX = 255;

const range = {
  from: Type.Optional(
    Type.String({
      description:
        `RFC 3339; buckets that begin before it are left out. By default ${RANGE_DAYS_DEFAULT.day} days before ` +
        `\`to\`, with hours ${RANGE_DAYS_DEFAULT.hour}.`,
    }),
  ),
  to: Type.Optional(
    Type.String({
      description:
        "RFC 3339; buckets that begin then or later are left out. By default the present. At most " +
        `${RANGE_DAYS_MAX.day} days after \`from\`, with hours ${RANGE_DAYS_MAX.hour}.`,
    }),
  ),
  by: Type.Optional(
    Type.Union([Type.Literal("hour"), Type.Literal("day")], {
      description: "The size of a bucket, in UTC; `day` by default.",
    }),
  ),
};
const page = { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) };

export const UsageQuery = Type.Object(
  {
    ...range,
    sender_id: Type.Optional(SenderId),
    template_id: Type.Optional(Uuid),
    group_by: Type.Optional(
      Type.Union([Type.Literal("sender"), Type.Literal("template")], {
        description: "One row of a bucket for each sender, or for each template, in place of one for all.",
      }),
    ),
    ...page,
  },
  { additionalProperties: false },
);
export type UsageQuery = Static<typeof UsageQuery>;

export const BouncesQuery = Type.Object(
  {
    ...range,
    domain: Type.Optional(
      Text({ minLength: 1, maxLength: DOMAIN_CHARACTERS_MAX, description: "What stands after the @." }),
    ),
    ...page,
  },
  { additionalProperties: false },
);
export type BouncesQuery = Static<typeof BouncesQuery>;

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Start = Type.Intersect([DateTime], { description: "When the hour or day begins." });

const Usage = Type.Object(
  {
    object: Type.Literal("usage"),
    start: Start,
    sender_id: Type.Optional(Type.Intersect([SenderId], { description: "With `group_by=sender`." })),
    template_id: Type.Optional(
      Nullable(
        Type.String({ format: "uuid", description: "With `group_by=template`; null: of no template." }),
      ),
    ),
    accepted: Count("Messages accepted, suppressed ones as well."),
    sent: Count("Messages that the relay took."),
    bounced: Count("Messages that the recipient's side refused for good."),
    failed: Count("Messages that could not be delivered for another reason."),
    suppressed: Count("Messages that ended because their recipient is suppressed."),
    canceled: Count("Messages that were called back."),
  },
  { additionalProperties: false },
);

const Bounces = Type.Object(
  {
    object: Type.Literal("bounces"),
    start: Start,
    domain: Nullable(
      Type.String({ description: "In lower-case ASCII; null where the log does not keep which it was." }),
    ),
    bounced: Count("Messages that bounced there."),
  },
  { additionalProperties: false },
);

const tag = "Usage";
const FRESH =
  "Holds everything that was written before the request. Buckets in which nothing happened are left out.";

export const usageOperations = {
  showUsage: {
    summary: "Count messages by hour or day",
    description:
      "Newest first. A message counts as accepted in the bucket of its acceptance and once more for its end, in the " +
      `bucket in which that was recorded, so rows add up over any range. ${FRESH}`,
    tag,
    query: UsageQuery,
    success: { status: 200, schema: pageSchema(Usage) },
    problems: [],
  },
  showBounces: {
    summary: "Count bounces by the recipient's domain",
    description:
      "Newest first, one row for each hour or day and domain. Which domains are kept is the operator's choice " +
      `(BOUNCE_DOMAINS). ${FRESH}`,
    tag,
    query: BouncesQuery,
    success: { status: 200, schema: pageSchema(Bounces) },
    problems: [],
  },
} satisfies Operations;
