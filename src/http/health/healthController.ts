import { Elysia } from "elysia";
import { routes } from "../server/routes.ts";

/** One condition for the service to do its work; `detail` is for people. */
export interface Check {
  readonly ok: boolean;
  /** Whether the service is unready while it is not ok. */
  readonly required: boolean;
  readonly detail: string;
}

/** The checks, by name. */
export type Checks = Readonly<Record<string, Check>>;

export function healthStatus(checks: Checks): "ok" | "degraded" | "unavailable" {
  const wrong = Object.values(checks).filter((check) => !check.ok);
  if (wrong.some((check) => check.required)) return "unavailable";
  return wrong.length > 0 ? "degraded" : "ok";
}

/** `live` only needs the process; `ready` says what is wrong, and answers 503 while something required fails. */
export function healthController(readiness: () => Promise<Checks>) {
  return new Elysia({ normalize: false })
    .get(routes.live.path, () => ({ status: "ok" }))
    .get(routes.ready.path, async ({ set }) => {
      const checks = await readiness();
      const status = healthStatus(checks);
      set.status = status === "unavailable" ? 503 : 200;
      if (status === "unavailable") set.headers["retry-after"] = "2";
      return { status, checks };
    });
}
