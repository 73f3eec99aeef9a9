import type { WebhookDeliveryRow } from "../../../projections/webhookDeliveries/queries.ts";
import type { WebhookStoryEvent } from "../../commands/webhookDelivery/webhookAttempts.ts";
import type { AnswerKeeping } from "../../commands/webhookDelivery/webhookPayload.ts";
import type { InstanceKeys } from "../../kernel/crypto/derivedKeys.ts";
import { rfc3339 } from "../../kernel/time.ts";

/** A delivery as it stands. */
export function deliveryJson(row: WebhookDeliveryRow) {
  return {
    id: row.id,
    object: "webhook_delivery",
    endpoint_id: row.endpointId,
    event_id: row.eventId,
    event_type: row.eventType,
    status: row.status,
    attempts: row.attempts,
    next_attempt_at: row.dueAt === null ? null : rfc3339(row.dueAt),
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

interface AttemptJson {
  readonly attempt: number;
  readonly started_at: string;
  readonly outcome: "running" | "delivered" | "failed";
  readonly ended_at: string | null;
  readonly status_code: number | null;
  readonly duration_ms: number | null;
  readonly reason: string | null;
  readonly excerpt: string | null;
}

/** The beginning of an endpoint's answer; null when there was none, or once it went with what it answered. */
type OpenAnswer = (ending: Ending["data"]) => string | null;

export function answerOpener(keys: Pick<InstanceKeys, "decryptWithSalt">, answer: AnswerKeeping): OpenAnswer {
  return ({ excerpt = null, sealedExcerpt }) => {
    if (answer.kind === "dropped") return null;
    if (answer.kind === "plain" || sealedExcerpt === undefined) return excerpt;
    return keys.decryptWithSalt(answer.salt, sealedExcerpt);
  };
}

/**
 * Every attempt, in order, with what became of it; a late outcome takes the place of a lease that ran out. What was
 * missed has no story.
 */
export function storyJson(story: readonly WebhookStoryEvent[], isMissed: boolean, openAnswer: OpenAnswer) {
  const attempts = new Map<number, AttemptJson>();
  let skippedReason: string | null = isMissed ? "endpoint_disabled" : null;
  for (const { at, event } of story) {
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
 * To a tenant all that cannot be reached is the same: which names are private here, and which ports are closed, is
 * nothing to be found out by asking. The log has the particulars.
 */
const UNREACHABLE: ReadonlySet<string> = new Set(["dns", "destination_not_public", "connect"]);

type Ending = Extract<WebhookStoryEvent["event"], { type: "WebhookDelivered" | "WebhookAttemptFailed" }>;

function ended(begun: AttemptJson, at: string, { type, data }: Ending, openAnswer: OpenAnswer): AttemptJson {
  return {
    ...begun,
    outcome: type === "WebhookDelivered" ? "delivered" : "failed",
    ended_at: at,
    status_code: data.statusCode ?? null,
    duration_ms: data.durationMs,
    reason: type === "WebhookDelivered" ? null : UNREACHABLE.has(data.reason) ? "unreachable" : data.reason,
    excerpt: openAnswer(data),
  };
}
