import type { Scope } from "../../domain/apiKey/scopes.ts";
import {
  BODY_BYTES_MAX,
  REPORT_BODY_BYTES_MAX,
  SIGNED_REPORT_BODY_BYTES_MAX,
  SMALL_BODY_BYTES_MAX,
  TEMPLATE_BODY_BYTES_MAX,
} from "../body/bodyLimits.ts";

/** An operation: its method, its path below BASE_URL, and the scope its key must hold; null: no key needed. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly scope: Scope | null;
  /** The longest JSON body, in bytes. */
  readonly bodyBytesMax: number;
}

/** Builds routes of one method. Paths stay literal types, because Elysia reads parameter names from them. */
function routesOf<const Method extends Route["method"]>(method: Method) {
  return <const Path extends string>(
    path: Path,
    scope: Scope | null,
    bodyBytesMax: number = SMALL_BODY_BYTES_MAX,
  ) => ({ method, path, scope, bodyBytesMax });
}

const get = routesOf("GET");
const post = routesOf("POST");
const patch = routesOf("PATCH");
const remove = routesOf("DELETE");

/** Every operation of the service. What is not listed here does not exist. */
export const routes = {
  sendEmail: post("/api/v1/emails", "email:send", BODY_BYTES_MAX),
  listEmails: get("/api/v1/emails", "email:status"),
  getEmail: get("/api/v1/emails/:id", "email:status"),
  sendEmailBatch: post("/api/v1/emails/batch", "email:send", BODY_BYTES_MAX),
  cancelEmails: post("/api/v1/emails/cancel", "email:send"),
  rescheduleEmail: post("/api/v1/emails/:id/reschedule", "email:send"),
  cancelEmail: post("/api/v1/emails/:id/cancel", "email:send"),
  tryEmailNow: post("/api/v1/emails/:id/try-now", "email:send"),
  sendEmailAgain: post("/api/v1/emails/:id/send-again", "email:send"),
  showUsage: get("/api/v1/usage", "email:status"),
  showBounces: get("/api/v1/usage/bounces", "email:status"),
  eraseEmailContent: remove("/api/v1/emails/:id/content", "email:send"),
  createTemplate: post("/api/v1/templates", "template:manage"),
  listTemplates: get("/api/v1/templates", "template:manage"),
  getTemplate: get("/api/v1/templates/:id", "template:manage"),
  renameTemplate: patch("/api/v1/templates/:id", "template:manage"),
  deleteTemplate: remove("/api/v1/templates/:id", "template:manage"),
  archiveTemplate: post("/api/v1/templates/:id/archive", "template:manage"),
  draftTemplateVersion: post("/api/v1/templates/:id/versions", "template:manage", TEMPLATE_BODY_BYTES_MAX),
  listTemplateVersions: get("/api/v1/templates/:id/versions", "template:manage"),
  getTemplateVersion: get("/api/v1/templates/:id/versions/:version_id", "template:manage"),
  publishTemplateVersion: post("/api/v1/templates/:id/versions/:version_id/publish", "template:manage"),
  previewTemplateVersion: post(
    "/api/v1/templates/:id/versions/:version_id/preview",
    "template:manage",
    TEMPLATE_BODY_BYTES_MAX,
  ),
  uploadAttachment: post("/api/v1/attachments", "attachment:manage", BODY_BYTES_MAX),
  listAttachments: get("/api/v1/attachments", "attachment:manage"),
  getAttachment: get("/api/v1/attachments/:id", "attachment:manage"),
  deleteAttachment: remove("/api/v1/attachments/:id", "attachment:manage"),
  addSuppression: post("/api/v1/suppressions", "suppression:manage"),
  listSuppressions: get("/api/v1/suppressions", "suppression:manage"),
  getSuppression: get("/api/v1/suppressions/:address", "suppression:manage"),
  removeSuppression: remove("/api/v1/suppressions/:address", "suppression:manage"),
  tellFeedback: post("/api/v1/feedback", "feedback:write"),
  takePostmarkEvent: post("/api/v1/feedback/postmark", "feedback:write", REPORT_BODY_BYTES_MAX),
  takeSesNotification: post("/feedback/ses", null, REPORT_BODY_BYTES_MAX),
  takeResendEvent: post("/feedback/resend/:workspace_id", null, SIGNED_REPORT_BODY_BYTES_MAX),
  takeMailgunEvent: post("/feedback/mailgun/:workspace_id", null, SIGNED_REPORT_BODY_BYTES_MAX),
  takeSendgridEvents: post("/feedback/sendgrid/:workspace_id", null, REPORT_BODY_BYTES_MAX),
  addSender: post("/api/v1/senders", "sender:manage"),
  listSenders: get("/api/v1/senders", "sender:manage"),
  getSender: get("/api/v1/senders/:id", "sender:manage"),
  requestSenderVerification: post("/api/v1/senders/:id/verification", "sender:manage"),
  disableSender: post("/api/v1/senders/:id/disable", "sender:manage"),
  enableSender: post("/api/v1/senders/:id/enable", "sender:manage"),
  showSenderVerification: get("/senders/verify/:token", null),
  confirmSenderVerification: post("/senders/verify/:token", null),
  getWorkspace: get("/api/v1/workspace", "workspace:manage"),
  pauseSending: post("/api/v1/workspace/pause", "workspace:manage"),
  resumeSending: post("/api/v1/workspace/resume", "workspace:manage"),
  listAuditLog: get("/api/v1/audit-log", "workspace:manage"),
  requestErasure: post("/api/v1/erasures", "workspace:manage"),
  listErasures: get("/api/v1/erasures", "workspace:manage"),
  getErasure: get("/api/v1/erasures/:id", "workspace:manage"),
  issueApiKey: post("/api/v1/api-keys", "workspace:manage"),
  listApiKeys: get("/api/v1/api-keys", "workspace:manage"),
  getApiKey: get("/api/v1/api-keys/:id", "workspace:manage"),
  renameApiKey: patch("/api/v1/api-keys/:id", "workspace:manage"),
  revokeApiKey: post("/api/v1/api-keys/:id/revoke", "workspace:manage"),
  rotateApiKey: post("/api/v1/api-keys/:id/rotate", "workspace:manage"),
  listWebhooks: get("/webhooks", "webhook:manage"),
  registerWebhook: post("/webhooks", "webhook:manage"),
  getWebhook: get("/webhooks/:id", "webhook:manage"),
  updateWebhook: patch("/webhooks/:id", "webhook:manage"),
  deleteWebhook: remove("/webhooks/:id", "webhook:manage"),
  disableWebhook: post("/webhooks/:id/disable", "webhook:manage"),
  enableWebhook: post("/webhooks/:id/enable", "webhook:manage"),
  rotateWebhookSecret: post("/webhooks/:id/rotate-secret", "webhook:manage"),
  testWebhook: post("/webhooks/:id/test", "webhook:manage"),
  listWebhookDeliveries: get("/webhooks/:id/deliveries", "webhook:manage"),
  getWebhookDelivery: get("/webhooks/:id/deliveries/:delivery_id", "webhook:manage"),
  retryWebhookDelivery: post("/webhooks/:id/deliveries/:delivery_id/retry", "webhook:manage"),
  recoverWebhook: post("/webhooks/:id/recover", "webhook:manage"),
  home: get("/", null),
  openApi: get("/openapi.json", null),
  docs: get("/docs", null),
  live: get("/health/live", null),
  ready: get("/health/ready", null),
} satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;
