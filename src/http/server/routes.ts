import type { Scope } from "../../domain/apiKey/scopes.ts";
import { BODY_BYTES_MAX, SMALL_BYTES_MAX } from "../body/bodyAdmission.ts";

/** Room for the largest version of a template, and for the variables of a preview, with every character escaped. */
const TEMPLATE_BODY_BYTES_MAX = 2_000_000;

/** An operation: its method, its path below BASE_URL, and the scope that its key must hold; null: no key. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly scope: Scope | null;
  /** The longest JSON body, in bytes; that of a small one unless given. */
  readonly bodyBytesMax?: number;
}

/** The longest JSON body that an operation takes, in bytes. */
export function bodyBytesMax(route: Route): number {
  return route.bodyBytesMax ?? SMALL_BYTES_MAX;
}

/** Every operation of the service. What is not here does not exist. */
export const routes = {
  sendEmail: { method: "POST", path: "/api/v1/emails", scope: "email:send", bodyBytesMax: BODY_BYTES_MAX },
  listEmails: { method: "GET", path: "/api/v1/emails", scope: "email:read" },
  getEmail: { method: "GET", path: "/api/v1/emails/:id", scope: "email:read" },
  cancelEmail: { method: "POST", path: "/api/v1/emails/:id/cancel", scope: "email:send" },
  showUsage: { method: "GET", path: "/api/v1/usage", scope: "email:read" },
  showBounces: { method: "GET", path: "/api/v1/usage/bounces", scope: "email:read" },
  eraseEmailContent: { method: "DELETE", path: "/api/v1/emails/:id/content", scope: "email:send" },
  createTemplate: { method: "POST", path: "/api/v1/templates", scope: "template:manage" },
  listTemplates: { method: "GET", path: "/api/v1/templates", scope: "template:manage" },
  getTemplate: { method: "GET", path: "/api/v1/templates/:id", scope: "template:manage" },
  deleteTemplate: { method: "DELETE", path: "/api/v1/templates/:id", scope: "template:manage" },
  archiveTemplate: { method: "POST", path: "/api/v1/templates/:id/archive", scope: "template:manage" },
  draftTemplateVersion: {
    method: "POST",
    path: "/api/v1/templates/:id/versions",
    scope: "template:manage",
    bodyBytesMax: TEMPLATE_BODY_BYTES_MAX,
  },
  listTemplateVersions: { method: "GET", path: "/api/v1/templates/:id/versions", scope: "template:manage" },
  getTemplateVersion: {
    method: "GET",
    path: "/api/v1/templates/:id/versions/:version_id",
    scope: "template:manage",
  },
  publishTemplateVersion: {
    method: "POST",
    path: "/api/v1/templates/:id/versions/:version_id/publish",
    scope: "template:manage",
  },
  previewTemplateVersion: {
    method: "POST",
    path: "/api/v1/templates/:id/versions/:version_id/preview",
    scope: "template:manage",
    bodyBytesMax: TEMPLATE_BODY_BYTES_MAX,
  },
  uploadAttachment: {
    method: "POST",
    path: "/api/v1/attachments",
    scope: "attachment:manage",
    bodyBytesMax: BODY_BYTES_MAX,
  },
  listAttachments: { method: "GET", path: "/api/v1/attachments", scope: "attachment:manage" },
  getAttachment: { method: "GET", path: "/api/v1/attachments/:id", scope: "attachment:manage" },
  deleteAttachment: { method: "DELETE", path: "/api/v1/attachments/:id", scope: "attachment:manage" },
  addSuppression: { method: "POST", path: "/api/v1/suppressions", scope: "suppression:manage" },
  listSuppressions: { method: "GET", path: "/api/v1/suppressions", scope: "suppression:manage" },
  getSuppression: { method: "GET", path: "/api/v1/suppressions/:address", scope: "suppression:manage" },
  removeSuppression: { method: "DELETE", path: "/api/v1/suppressions/:address", scope: "suppression:manage" },
  addSender: { method: "POST", path: "/api/v1/senders", scope: "sender:manage" },
  listSenders: { method: "GET", path: "/api/v1/senders", scope: "sender:manage" },
  getSender: { method: "GET", path: "/api/v1/senders/:id", scope: "sender:manage" },
  requestSenderVerification: {
    method: "POST",
    path: "/api/v1/senders/:id/verification",
    scope: "sender:manage",
  },
  disableSender: { method: "POST", path: "/api/v1/senders/:id/disable", scope: "sender:manage" },
  enableSender: { method: "POST", path: "/api/v1/senders/:id/enable", scope: "sender:manage" },
  showSenderVerification: { method: "GET", path: "/senders/verify/:token", scope: null },
  confirmSenderVerification: { method: "POST", path: "/senders/verify/:token", scope: null },
  getWorkspace: { method: "GET", path: "/api/v1/workspace", scope: "workspace:manage" },
  pauseSending: { method: "POST", path: "/api/v1/workspace/pause", scope: "workspace:manage" },
  resumeSending: { method: "POST", path: "/api/v1/workspace/resume", scope: "workspace:manage" },
  listAuditLog: { method: "GET", path: "/api/v1/audit-log", scope: "workspace:manage" },
  requestErasure: { method: "POST", path: "/api/v1/erasures", scope: "workspace:manage" },
  listErasures: { method: "GET", path: "/api/v1/erasures", scope: "workspace:manage" },
  getErasure: { method: "GET", path: "/api/v1/erasures/:id", scope: "workspace:manage" },
  issueApiKey: { method: "POST", path: "/api/v1/api-keys", scope: "workspace:manage" },
  listApiKeys: { method: "GET", path: "/api/v1/api-keys", scope: "workspace:manage" },
  getApiKey: { method: "GET", path: "/api/v1/api-keys/:id", scope: "workspace:manage" },
  revokeApiKey: { method: "POST", path: "/api/v1/api-keys/:id/revoke", scope: "workspace:manage" },
  rotateApiKey: { method: "POST", path: "/api/v1/api-keys/:id/rotate", scope: "workspace:manage" },
  listWebhooks: { method: "GET", path: "/webhooks", scope: "webhook:manage" },
  registerWebhook: { method: "POST", path: "/webhooks", scope: "webhook:manage" },
  getWebhook: { method: "GET", path: "/webhooks/:id", scope: "webhook:manage" },
  updateWebhook: { method: "PATCH", path: "/webhooks/:id", scope: "webhook:manage" },
  deleteWebhook: { method: "DELETE", path: "/webhooks/:id", scope: "webhook:manage" },
  disableWebhook: { method: "POST", path: "/webhooks/:id/disable", scope: "webhook:manage" },
  enableWebhook: { method: "POST", path: "/webhooks/:id/enable", scope: "webhook:manage" },
  rotateWebhookSecret: { method: "POST", path: "/webhooks/:id/rotate-secret", scope: "webhook:manage" },
  testWebhook: { method: "POST", path: "/webhooks/:id/test", scope: "webhook:manage" },
  listWebhookDeliveries: { method: "GET", path: "/webhooks/:id/deliveries", scope: "webhook:manage" },
  getWebhookDelivery: {
    method: "GET",
    path: "/webhooks/:id/deliveries/:delivery_id",
    scope: "webhook:manage",
  },
  retryWebhookDelivery: {
    method: "POST",
    path: "/webhooks/:id/deliveries/:delivery_id/retry",
    scope: "webhook:manage",
  },
  recoverWebhook: { method: "POST", path: "/webhooks/:id/recover", scope: "webhook:manage" },
  home: { method: "GET", path: "/", scope: null },
  openApi: { method: "GET", path: "/openapi.json", scope: null },
  docs: { method: "GET", path: "/docs", scope: null },
  live: { method: "GET", path: "/health/live", scope: null },
  ready: { method: "GET", path: "/health/ready", scope: null },
} as const satisfies Record<string, Route>;

/** What paths are a route's. A slash at the end is the same path; two are not the root. */
export function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/:[a-z_]+/g, "[^/]+")}${path === "/" ? "" : "/?"}$`);
}

const patterns = Object.values(routes).map(({ method, path }) => ({
  method,
  path,
  pattern: pathPattern(path),
}));

/** The words of all routes. */
const WORDS: ReadonlySet<string> = new Set(
  patterns.flatMap(({ path }) => path.split("/").filter((part) => !part.startsWith(":"))),
);
/** Parts of a path that no route takes and a log line shows. */
const LOGGED_PARTS_MAX = 8;

/**
 * A path below BASE_URL as a log line may tell it: its route. What is in the variable parts, and in a path of no route,
 * may be a key or an address, so nothing of it is shown but the words of our own routes.
 */
export function loggedPath(path: string): string {
  const route = patterns.find(({ pattern }) => pattern.test(path));
  if (route !== undefined) return route.path;
  const parts = path.split("/").slice(0, LOGGED_PARTS_MAX + 1);
  return parts.map((part) => (WORDS.has(part) ? part : "…")).join("/");
}

/** The methods that a path takes, for 405 and its Allow header; none for an unknown path. */
export function methodsOf(path: string): readonly string[] {
  const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return methods.includes("GET") ? [...methods, "HEAD"] : methods;
}

/** What most operations are below. */
const API_PREFIX = "/api/v1";

/** The route that was meant where {@link API_PREFIX} is missing, or is one too many; null for any other path. */
export function nearestPath(path: string): string | null {
  const other = path.startsWith(`${API_PREFIX}/`) ? path.slice(API_PREFIX.length) : API_PREFIX + path;
  const route = patterns.find(({ pattern }) => pattern.test(other));
  return route === undefined ? null : route.path.replace(/:([a-z_]+)/g, "{$1}");
}

export type RouteName = keyof typeof routes;
