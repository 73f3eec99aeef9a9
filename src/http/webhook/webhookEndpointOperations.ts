import { type Static, Type } from "@sinclair/typebox";
import { ENDPOINTS_MAX, OVERLAP_SECONDS_MAX } from "../../domain/webhook/decisions.ts";
import { INCLUDABLE_MEMBERS } from "../../domain/webhook/includableMembers.ts";
import { URL_CHARACTERS_MAX } from "../../domain/webhook/webhookUrl.ts";
import { WEBHOOK_EVENT_TYPES } from "../../domain/webhookEventTypes.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { displayNameFaults, memberRules, NO_FAULTS } from "../body/commonFaults.ts";
import {
  Closed,
  FreeText,
  Nullable,
  OneOf,
  SHOWN_NAME_RULE,
  Text,
  WholeNumberText,
} from "../body/commonSchemas.ts";
import { withAdvice, withErrorText, withRules } from "../body/validation.ts";
import { wholeListQuery } from "../lists/listOperation.ts";
import { answersAccepted, answersNoContent, answersOk, operationsOf } from "../server/operation.ts";
import type { ProblemDetail } from "../server/problem.ts";
import { LEFT_ALONE, NewWebhookEndpoint, WebhookEndpoint, WebhookTest } from "./webhookEndpointResource.ts";

const DESCRIPTION_CHARACTERS_MAX = 500;

/** Refuses unknown event types. Null: all. */
function eventTypeFaults(types: unknown): readonly ProblemDetail[] {
  if (!Array.isArray(types)) return NO_FAULTS;
  const known: readonly unknown[] = WEBHOOK_EVENT_TYPES;
  const message = `must be one of ${known.join(", ")}`;
  return types.flatMap((type, index) =>
    typeof type !== "string" || known.includes(type) ? [] : [{ pointer: `/event_types/${index}`, message }],
  );
}

const endpointRules = memberRules(({ description, event_types: types }) => [
  ...(description === ""
    ? NO_FAULTS
    : displayNameFaults("/description", description, DESCRIPTION_CHARACTERS_MAX)),
  ...eventTypeFaults(types),
]);

const Destination = FreeText(
  `A public HTTPS URL on port 443, at most ${grouped(URL_CHARACTERS_MAX)} characters as given and as kept.`,
);
const Description = Nullable(Text({ maxLength: DESCRIPTION_CHARACTERS_MAX, description: SHOWN_NAME_RULE }));
const EventTypes = Nullable(Type.Array(Type.String(), { minItems: 1, uniqueItems: true }), {
  description: `Null or absent: all. Else some of ${WEBHOOK_EVENT_TYPES.join(", ")}.`,
});
const Include = Type.Array(OneOf(INCLUDABLE_MEMBERS), {
  uniqueItems: true,
  description:
    "Personal data that the `data` of `email.*` events shall have: the bare addresses `from` and `to`, and the `subject`. By default nothing. The key needs `email:status` too for addresses, `email:read` for the subject (else FORBIDDEN). What your program has received is not erased with the message.",
});

/** Members of other services' endpoints that ours do not have. */
const ENDPOINT_ADVICE = { endpoint: "did you mean url?", events: "did you mean event_types?" };

const RegisterWebhookBody = withRules(
  withAdvice(
    ENDPOINT_ADVICE,
    Closed(
      {
        url: Destination,
        description: Type.Optional(Description),
        event_types: Type.Optional(EventTypes),
        include: Type.Optional(Include),
      },
      {
        examples: [
          {
            url: "https://hooks.example.com/postledger",
            description: "Order status",
            event_types: ["email.sent", "email.bounced"],
          },
        ],
      },
    ),
  ),
  endpointRules,
);

const UpdateWebhookBody = withRules(
  Type.Partial(
    Type.Object({ url: Destination, description: Description, event_types: EventTypes, include: Include }),
    {
      additionalProperties: false,
      minProperties: 1,
      examples: [{ event_types: null }],
    },
  ),
  endpointRules,
);

const RotateSecretBody = Closed(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description:
          "How long the old secret also signs, in seconds; by default 86400 (a day). 0 ends it at once, as for a secret that leaked.",
      }),
    ),
  },
  { examples: [{ overlap_seconds: 3_600 }] },
);

const RotateSecretQuery = Closed({
  overlap_seconds: Type.Optional(
    withErrorText(
      `must be a whole number from 0 to ${OVERLAP_SECONDS_MAX}`,
      WholeNumberText("^([0-9]{1,5}|[1-5][0-9]{5}|60[0-3][0-9]{3}|604[0-7][0-9]{2}|604800)$", {
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description: "As in the body, for requests without one: 0 to 604800.",
      }),
    ),
  ),
});

const WebhookEndpointList = Closed({
  data: Type.Array(WebhookEndpoint, { maxItems: ENDPOINTS_MAX }),
  next_cursor: Type.Optional(Nullable(Type.String(), { description: "Only with `limit` or `cursor`." })),
});

export const webhookEndpointOperations = operationsOf("Webhooks", {
  listWebhooks: {
    summary: "List webhook endpoints",
    description: "Active and disabled ones, newest first. Without `limit` and `cursor`, all of them.",
    query: wholeListQuery,
    success: { status: 200, schema: WebhookEndpointList },
    problems: [],
  },
  registerWebhook: {
    summary: "Register a webhook endpoint",
    body: RegisterWebhookBody,
    success: { status: 201, schema: NewWebhookEndpoint },
    problems: ["INVALID_WEBHOOK_URL", "WEBHOOK_ALREADY_EXISTS", "WEBHOOK_LIMIT_REACHED"],
  },
  getWebhook: {
    summary: "Read a webhook endpoint",
    ...answersOk(WebhookEndpoint, "WEBHOOK_NOT_FOUND"),
  },
  updateWebhook: {
    summary: "Change a webhook endpoint",
    description:
      "Omitted members stay as they are. Pending deliveries go by the new destination and `include` too. A key keeps what `include` has, but moves the endpoint only if it could set that itself (else FORBIDDEN).",
    body: UpdateWebhookBody,
    ...answersOk(WebhookEndpoint, "INVALID_WEBHOOK_URL", "WEBHOOK_ALREADY_EXISTS", "WEBHOOK_NOT_FOUND"),
  },
  deleteWebhook: {
    summary: "Delete a webhook endpoint",
    description: "Its pending deliveries are skipped.",
    ...answersNoContent("WEBHOOK_NOT_FOUND"),
  },
  disableWebhook: {
    summary: "Disable a webhook endpoint",
    description: "Its pending deliveries are skipped, and can be recovered. A repeat changes nothing.",
    ...answersOk(WebhookEndpoint, "WEBHOOK_NOT_FOUND"),
  },
  enableWebhook: {
    summary: "Enable a webhook endpoint",
    description:
      "It gets what happens from now on; what it missed can be recovered. A repeat changes nothing.",
    ...answersOk(WebhookEndpoint, "WEBHOOK_NOT_FOUND"),
  },
  rotateWebhookSecret: {
    summary: "Give a webhook endpoint a new signing secret",
    description:
      "Both secrets sign while they overlap. If rotated repeatedly, up to three earlier secrets sign until their overlap has passed, and none for longer than the newest rotation says.",
    body: RotateSecretBody,
    isBodyOptional: true,
    ...answersOk(NewWebhookEndpoint, "WEBHOOK_NOT_FOUND"),
    query: RotateSecretQuery,
  },
  testWebhook: {
    summary: "Send a test event to a webhook endpoint",
    description: `An event \`webhook.test\`, whatever the endpoint subscribes to. ${LEFT_ALONE}`,
    ...answersAccepted(WebhookTest, "WEBHOOK_NOT_FOUND", "WEBHOOK_DISABLED"),
  },
});

export type UpdateWebhookBody = Static<typeof UpdateWebhookBody>;
