import { Type } from "@sinclair/typebox";
import { TAG_CHARACTERS_MAX } from "../../domain/email/contentLimits.ts";
import { FreeText, OneOf, Text, Uuid } from "../body/commonSchemas.ts";
import { answersPage } from "../lists/listOperation.ts";
import { SenderId } from "../sender/senderResource.ts";
import { operationsOf } from "../server/operation.ts";
import { RANGE_DAYS_DEFAULT, RANGE_DAYS_MAX } from "./usageRange.ts";
import { Bounces, Usage } from "./usageResource.ts";

const DOMAIN_CHARACTERS_MAX = 255;

const range = {
  from: Type.Optional(
    FreeText(
      `RFC 3339; buckets that begin before it are left out. By default ${RANGE_DAYS_DEFAULT.day} days before ` +
        `\`to\`, with hours ${RANGE_DAYS_DEFAULT.hour}.`,
    ),
  ),
  to: Type.Optional(
    FreeText(
      "RFC 3339; buckets that begin then or later are left out. By default the present. At most " +
        `${RANGE_DAYS_MAX.day} days after \`from\`, with hours ${RANGE_DAYS_MAX.hour}.`,
    ),
  ),
  by: Type.Optional(
    OneOf(["hour", "day"], {
      description: "The size of a bucket, in UTC; `day` by default.",
    }),
  ),
};

const usageFilters = {
  ...range,
  sender_id: Type.Optional(SenderId),
  template_id: Type.Optional(Uuid),
  tag: Type.Optional(
    Text({
      minLength: 1,
      maxLength: TAG_CHARACTERS_MAX,
      description: "Messages with this tag; goes with no other filter.",
    }),
  ),
  group_by: Type.Optional(
    OneOf(["sender", "template", "tag"], {
      description:
        "One row of a bucket for each sender, template or tag, in place of one for all. A message counts in the row of each of its tags.",
    }),
  ),
};

const bouncesFilters = {
  ...range,
  domain: Type.Optional(
    Text({ minLength: 1, maxLength: DOMAIN_CHARACTERS_MAX, description: "The part after the @." }),
  ),
};

const FRESH =
  "Holds everything that was written before the request. Buckets in which nothing happened are left out.";

export const usageOperations = operationsOf("Usage", {
  showUsage: {
    summary: "Count messages by hour or day",
    description:
      "Newest first. A message counts as accepted in the bucket of its acceptance and once more for its end, in the " +
      `bucket in which that was recorded, so rows add up over any range. A test key counts test mail, every other key live mail. ${FRESH}`,
    ...answersPage(Usage, usageFilters),
  },
  showBounces: {
    summary: "Count bounces by the recipient's domain",
    description:
      "Newest first, one row for each hour or day and domain. Which domains are kept is the operator's choice " +
      `(BOUNCE_DOMAINS). ${FRESH}`,
    ...answersPage(Bounces, bouncesFilters),
  },
});
