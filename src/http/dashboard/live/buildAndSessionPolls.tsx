/** @jsxImportSource hono/jsx */
import { BUILD_PATH, ReadModelBuildNotice, WITHOUT_ROWS } from "../components/readModelBuildNotice.tsx";
import { SESSION_PATH } from "../components/sessionEnded.tsx";
import { type DashboardRoute, getInBackground } from "../frame/dashboardRoute.ts";

/** What every page may poll for. */
export function buildAndSessionPolls(): readonly DashboardRoute[] {
  return [
    // The progress of read models being built, which pages poll while they show it.
    getInBackground(BUILD_PATH, null, async ({ request, query, readModelBuild: build, to, seeOther }) => {
      if (!request.headers.has("hx-request")) return seeOther("/");
      const isWithoutRows = query.has(WITHOUT_ROWS);
      // htmx then reloads the page that asked. Nobody can have typed anything there.
      if (build === null && isWithoutRows)
        return new Response(null, { headers: { "hx-refresh": "true", "cache-control": "no-store" } });
      return {
        title: "Read models",
        body: <ReadModelBuildNotice to={to} build={build} isWithoutRows={isWithoutRows} />,
      };
    }),
    // Asked when somebody returns to a page. An ended session never gets this far.
    getInBackground(SESSION_PATH, null, async ({ request, seeOther }) => {
      if (!request.headers.has("hx-request")) return seeOther("/");
      return new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
    }),
  ];
}
