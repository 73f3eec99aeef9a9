import { Type } from "@sinclair/typebox";
import type { WebhookDeliveryRow } from "../../../projections/webhookDeliveries/queries.ts";
import type { WebhookHistoryEvent } from "../../commands/webhookDelivery/readWebhookDelivery.ts";
import type { AnswerKeeping } from "../../commands/webhookDelivery/webhookPayload.ts";
import { emailStream } from "../../domain/email/events.ts";
import { DELIVERY_STATUSES, LEASE_EXPIRED } from "../../domain/webhookDelivery/state.ts";
import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { rfc3339 } from "../../kernel/time.ts";
import {
  Closed,
  Count,
  DateTime,
  Id,
  Nullable,
  OneOf,
  type ResponseOf,
  Uuid,
} from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";
import { WebhookEventName } from "../webhook/webhookEndpointResource.ts";
import { WebhookEventBody } from "../webhook/webhookEventSchemas.ts";

/** How many deliveries can be recovered at once. */
export const RECOVERED_MAX = 10_000;

export const DeliveryStatus = OneOf(DELIVERY_STATUSES);

const EMAIL_STREAM = emailStream("");

const deliveryFields = {
  id: Id("The `webhook-id` of every attempt."),
  object: Type.Literal("webhook_delivery"),
  endpoint_id: Uuid,
  event_id: Uuid,
  event_type: WebhookEventName,
  email_id: Nullable(
    Id("The message that the event is about; null for events of suppressions and endpoints."),
  ),
  status: DeliveryStatus,
  attempts: Count(),
  next_attempt_at: Nullable(DateTime),
  created_at: DateTime,
  updated_at: DateTime,
};

export const WebhookDelivery = Closed(deliveryFields, {
  $id: "WebhookDelivery",
  description: "One event on its way to one endpoint.",
});

const wholeDeliveryJson = jsonOfSchema(WebhookDelivery);

/** The message that a delivery's event is about; null if it is about none. */
export function emailIdOf({ eventStream }: WebhookDeliveryRow): string | null {
  return eventStream.startsWith(EMAIL_STREAM) ? eventStream.slice(EMAIL_STREAM.length) : null;
}

export function deliveryJson(row: WebhookDeliveryRow) {
  const nextAttemptAt = row.dueAt === null ? null : rfc3339(row.dueAt);
  return wholeDeliveryJson({ ...row, emailId: emailIdOf(row), nextAttemptAt });
}

const WebhookAttempt = Closed(
  {
    attempt: Type.Integer({ minimum: 1 }),
    started_at: DateTime,
    outcome: OneOf(["running", "delivered", "failed"]),
    ended_at: Nullable(DateTime),
    status_code: Nullable(Type.Integer()),
    duration_ms: Nullable(Count(), {
      description: "Null while it runs, or if it could not be measured.",
    }),
    reason: Nullable(Type.String(), {
      description:
        "Of a failure. `unreachable`: its name has no address that may be called, or nothing there accepts a connection (over TLS for https); `tls`: its certificate was not accepted; `timeout`: no answer in time; `broken_answer`: the connection ended before the answer did; `status`: not 2xx; `redirected`: 3xx; `lease_expired`: the service that made the call disappeared; `store_unavailable`: the log did not confirm the attempt in time, so no call was made.",
    }),
    excerpt: Nullable(Type.String(), {
      description:
        "The beginning of the answer, addresses replaced; null once the content is erased, and for a message without `email:read`.",
    }),
  },
  { $id: "WebhookAttempt" },
);

type AttemptAnswer = ResponseOf<typeof WebhookAttempt>;

export const WholeWebhookDelivery = Closed(
  {
    ...deliveryFields,
    skipped_reason: Nullable(Type.String()),
    attempt_log: Type.Array(WebhookAttempt),
    payload: WebhookEventBody,
  },
  { $id: "WholeWebhookDelivery" },
);

export const WebhookRecovery = Closed({
  object: Type.Literal("webhook_recovery"),
  requested: Type.Integer({ minimum: 0, maximum: RECOVERED_MAX }),
  has_more: Type.Boolean({
    description: `Whether there were more than ${grouped(RECOVERED_MAX)}: ask again.`,
  }),
});

/** Opens the beginning of an endpoint's answer; null if there was none, or its content was erased. */
type OpenAnswer = (ending: Ending["data"]) => string | null;

export function answerOpener(keys: Pick<InstanceKeys, "decryptWithSalt">, answer: AnswerKeeping): OpenAnswer {
  return ({ excerpt = null, sealedExcerpt }) => {
    if (answer.kind === "dropped") return null;
    if (answer.kind === "plain" || sealedExcerpt === undefined) return excerpt;
    return keys.decryptWithSalt(answer.salt, sealedExcerpt);
  };
}

/**
 * Every attempt in order, with its outcome; a late outcome replaces an expired lease. A missed delivery has no history.
 */
export function webhookHistoryJson(
  history: readonly WebhookHistoryEvent[],
  isMissed: boolean,
  openAnswer: OpenAnswer,
) {
  const attempts = new Map<number, AttemptAnswer>();
  let skippedReason: string | null = isMissed ? "endpoint_disabled" : null;
  for (const { at, event } of history) {
    if (event.type === "WebhookAttemptStarted") {
      const { attempt } = event.data;
      const open = { ended_at: null, status_code: null, duration_ms: null, reason: null, excerpt: null };
      attempts.set(attempt, { attempt, started_at: at, outcome: "running", ...open });
    } else if (event.type === "WebhookDelivered" || event.type === "WebhookAttemptFailed") {
      const begun = attempts.get(event.data.attempt);
      if (begun) attempts.set(event.data.attempt, ended(begun, at, event, openAnswer));
    } else if (event.type === "WebhookDeliverySkipped") {
      skippedReason = event.data.reason;
    }
  }
  return { skipped_reason: skippedReason, attempt_log: [...attempts.values()] };
}

/**
 * Tenants see one reason for everything unreachable: they must not probe which names are private here or which ports
 * are closed. The log has the details.
 */
const UNREACHABLE: ReadonlySet<string> = new Set(["dns", "destination_not_public", "connect"]);

type Ending = Extract<WebhookHistoryEvent["event"], { type: "WebhookDelivered" | "WebhookAttemptFailed" }>;

function ended(
  begun: AttemptAnswer,
  at: string,
  { type, data }: Ending,
  openAnswer: OpenAnswer,
): AttemptAnswer {
  // For an expired lease the log has the lease's length; how long the call took is unknown.
  const isTimed = !("reason" in data && data.reason === LEASE_EXPIRED);
  return {
    ...begun,
    outcome: type === "WebhookDelivered" ? "delivered" : "failed",
    ended_at: at,
    status_code: data.statusCode ?? null,
    duration_ms: isTimed ? data.durationMs : null,
    reason: type === "WebhookDelivered" ? null : UNREACHABLE.has(data.reason) ? "unreachable" : data.reason,
    excerpt: openAnswer(data),
  };
}
