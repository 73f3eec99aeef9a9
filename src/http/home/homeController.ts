import { Elysia } from "elysia";
import { DASHBOARD_PATH } from "../dashboard/frame/dashboardRoute.ts";
import { type Checks, healthStatus } from "../health/healthController.ts";
import { routes } from "../server/routes.ts";

interface HomeOptions {
  readonly readiness: () => Promise<Checks>;
  readonly version: string;
  /** The path of BASE_URL, "" or "/prefix". */
  readonly basePath: string;
}

/** The root of the service: redirects people to the dashboard and answers programs with JSON. Needs no key. */
export function homeController({ readiness, version, basePath }: HomeOptions) {
  const dashboard = basePath + DASHBOARD_PATH;
  const links = {
    dashboard,
    docs: basePath + routes.docs.path,
    openapi: basePath + routes.openApi.path,
    live: basePath + routes.live.path,
    ready: basePath + routes.ready.path,
  };
  return new Elysia({ normalize: false }).get(routes.home.path, async ({ request, set }) => {
    set.headers.vary = "Accept";
    const accept = request.headers.get("accept") ?? "";
    if (weightOf(accept, "application/json") > weightOf(accept, "text/html"))
      return { name: "Postledger", version, status: healthStatus(await readiness()), links };
    set.status = 303;
    set.headers.location = dashboard;
    return "";
  });
}

/** The weight of a media type in Accept (RFC 9110), by the most specific range that covers it. */
function weightOf(accept: string, type: string): number {
  const ranges = accept.split(",").map((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice("q=".length) ?? "1";
    return { name, weight: Number(weight) };
  });
  const covering = [type, type.replace(/\/.*/, "/*"), "*/*"];
  for (const name of covering) {
    const found = ranges.find((range) => range.name === name);
    if (found) return found.weight;
  }
  return 0;
}
