import type { Scope } from "../domain/apiKey/scopes.ts";

/** An operation: its method, its path below BASE_URL, and the scope that its key must hold; null: no key. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly scope: Scope | null;
}

/** Every operation of the service. What is not here does not exist. */
export const routes = {
  sendEmail: { method: "POST", path: "/api/v1/emails", scope: "email:send" },
  listEmails: { method: "GET", path: "/api/v1/emails", scope: "email:read" },
  getEmail: { method: "GET", path: "/api/v1/emails/:id", scope: "email:read" },
  cancelEmail: { method: "POST", path: "/api/v1/emails/:id/cancel", scope: "email:send" },
  listWebhooks: { method: "GET", path: "/webhooks", scope: "webhook:manage" },
  registerWebhook: { method: "POST", path: "/webhooks", scope: "webhook:manage" },
  live: { method: "GET", path: "/health/live", scope: null },
  ready: { method: "GET", path: "/health/ready", scope: null },
} as const satisfies Record<string, Route>;

const patterns = Object.values(routes).map((route) => ({
  method: route.method,
  pattern: new RegExp(`^${route.path.replace(/:[a-z_]+/g, "[^/]+")}/?$`),
}));

/** The methods that a path takes, for 405 and its Allow header; none for an unknown path. */
export function methodsOf(path: string): readonly string[] {
  const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return methods.includes("GET") ? [...methods, "HEAD"] : methods;
}
