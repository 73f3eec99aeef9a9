import { Elysia } from "elysia";
import { routes } from "./routes.ts";

/** One thing that must be well for the service to do its work; `detail` is for people. */
export interface Check {
  readonly ok: boolean;
  /** Whether the service is unready while it is not ok. */
  readonly required: boolean;
  readonly detail: string;
}

/** `live` needs nothing but the process; `ready` says what is wrong, and answers 503 while something required is. */
export function healthController(readiness: () => Promise<Readonly<Record<string, Check>>>) {
  return new Elysia({ normalize: false })
    .get(routes.live.path, () => ({ status: "ok" }))
    .get(routes.ready.path, async ({ set }) => {
      const checks = await readiness();
      const wrong = Object.values(checks).filter((check) => !check.ok);
      const unready = wrong.some((check) => check.required);
      set.status = unready ? 503 : 200;
      if (unready) set.headers["retry-after"] = "2";
      return { status: unready ? "unavailable" : wrong.length > 0 ? "degraded" : "ok", checks };
    });
}
