import { DELIVERY_POLICY } from "../../domain/email/delivery/deliveryPolicy.ts";
import type { Json } from "../../kernel/text/json.ts";

export const EXAMPLE_ID = "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3a";
export const EXAMPLE_TIME = "2030-01-01T00:00:00Z";
export const EXAMPLE_ADDRESS = "ana@example.com";
export const EXAMPLE_URL = "https://hooks.example.com/postledger";

const KEY_ID = "4fQ9sXb2LmZk";

/** Example texts by field name. */
export const EXAMPLE_TEXTS: Readonly<Record<string, string>> = {
  subject: "Your order",
  name: "Shop",
  content_type: "text/plain",
  tags: "order",
  transport: "smtp",
  source: "ses",
  feedback_type: "abuse",
  reply: "250 2.0.0 Ok: queued",
  token: "TOKEN",
  version: "1.0.0",
  request_id: "0123456789abcdefghjk",
  dashboard: "/dashboard",
  docs: "/docs",
  openapi: "/openapi.json",
  live: "/health/live",
  ready: "/health/ready",
};

const MAIL = { from: "hello@example.com", to: EXAMPLE_ADDRESS, subject: "Your order" };
const MESSAGE_ID = `<${EXAMPLE_ID}@example.com>`;
const SENT = { status: "sent", attempts: 1, ...MAIL, message_id: MESSAGE_ID };
const REFUSED = {
  reason: "recipient_address_rejected",
  code: 550,
  enhanced_code: "5.1.1",
  reply: "550 5.1.1 No such user here",
};
const DEFERRED = {
  reason: "mailbox_full",
  code: 452,
  enhanced_code: "4.2.2",
  reply: "452 4.2.2 Mailbox full",
};
const FAILED = {
  reason: "sender_rejected",
  code: 550,
  enhanced_code: "5.7.1",
  reply: "550 5.7.1 Sender not allowed",
};
const WORKSPACE_LIMITS = {
  messages_per_day: 1_000_000,
  storage_bytes: 1_000_000_000,
  content_bytes: 50_000_000_000,
  key_requests_per_second: 2_000,
  workspace_requests_per_second: 4_000,
  attachment_retention_hours: 24,
  content_retention_days: 30,
};

/**
 * Members of examples by the name of their schema, so that an example shows what the service answers: a message that was
 * sent, with its reason null. An object here replaces only the members that it has.
 */
export const EXAMPLE_MEMBERS: Readonly<Record<string, Json>> = {
  EmailSummary: SENT,
  Email: {
    ...SENT,
    text: "It is on its way.",
    attachments: [],
    timeline: [
      { type: "queued", at: EXAMPLE_TIME, sequence: 0 },
      {
        type: "delivery_started",
        at: EXAMPLE_TIME,
        sequence: 1,
        attempt: 1,
        transport: "smtp",
        lease_ms: DELIVERY_POLICY.leaseMs,
      },
      {
        ...{ type: "sent", at: EXAMPLE_TIME, sequence: 2, attempt: 1, transport: "smtp" },
        reply: "250 2.0.0 Ok: queued",
      },
    ],
  },
  Bounces: { domain: "example.com" },
  Attachment: { filename: "note.txt" },
  Suppression: { address: EXAMPLE_ADDRESS, reason: "manual", note: "Asked for it by phone." },
  Sender: { address: "billing@example.com", display_name: "Example billing" },
  Template: { alias: "order-confirmation" },
  TemplateVersion: { text: "It is on its way.", variables: [] },
  TemplatePreview: { text: "It is on its way." },
  Workspace: { limits: WORKSPACE_LIMITS },
  AuditEntry: {
    id: EXAMPLE_ID,
    action: "api_key.revoked",
    actor: { id: KEY_ID, name: "Shop" },
    target: { type: "api_key", id: KEY_ID, label: "Shop" },
  },
  IssuedApiKey: { missing_senders: [] },
  WebhookDelivery: { email_id: EXAMPLE_ID, next_attempt_at: EXAMPLE_TIME },
  WholeWebhookDelivery: { email_id: EXAMPLE_ID, status: "delivered", attempts: 1 },
  WebhookAttempt: {
    outcome: "delivered",
    ended_at: EXAMPLE_TIME,
    status_code: 204,
    duration_ms: 120,
  },
  EmailQueuedEvent: { data: { status: "queued" } },
  EmailSentEvent: { data: { status: "sent", attempt: 1 } },
  EmailDeliveryDelayedEvent: { data: { status: "deferred", attempt: 1, ...DEFERRED } },
  EmailDeliveredEvent: { data: { status: "delivered", attempt: 1 } },
  EmailBouncedEvent: { data: { status: "bounced", attempt: 1, ...REFUSED, source: "relay" } },
  EmailComplainedEvent: { data: { status: "complained", attempt: 1 } },
  EmailFailedEvent: { data: { status: "failed", attempt: 1, ...FAILED } },
  EmailSuppressedEvent: { data: { status: "suppressed", reason: "recipient_suppressed" } },
  EmailCanceledEvent: { data: { status: "canceled" } },
  SuppressionCreatedEvent: { data: { address: EXAMPLE_ADDRESS, email_id: EXAMPLE_ID } },
  SuppressionDeletedEvent: { data: { address: EXAMPLE_ADDRESS } },
  WebhookDisabledEvent: { data: { url: EXAMPLE_URL } },
  WebhookTestEvent: { data: { url: EXAMPLE_URL } },
};
