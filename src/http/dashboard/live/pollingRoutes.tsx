/** @jsxImportSource hono/jsx */
import { BUILD_PATH, ReadModelBuildNotice, WITHOUT_ROWS } from "../components/readModelBuildNotice.tsx";
import { SESSION_PATH } from "../components/sessionEnded.tsx";
import { type DashboardRoute, getInBackground } from "../frame/dashboardRoute.ts";

/** What every page may ask for beside itself. */
export function pollingRoutes(): readonly DashboardRoute[] {
  return [
    // How far the read models are that are being built: a page that says so asks again and again.
    getInBackground(BUILD_PATH, null, async ({ request, query, readModelBuild: build, to, seeOther }) => {
      if (!request.headers.has("hx-request")) return seeOther("/");
      const isWithoutRows = query.has(WITHOUT_ROWS);
      // htmx then loads the page that has asked. Nobody can have typed anything there.
      if (build === null && isWithoutRows)
        return new Response(null, { headers: { "hx-refresh": "true", "cache-control": "no-store" } });
      return {
        title: "Read models",
        body: <ReadModelBuildNotice to={to} build={build} isWithoutRows={isWithoutRows} />,
      };
    }),
    // Whether the session goes on: asked when somebody comes back to a page. One that has ended never gets this far.
    getInBackground(SESSION_PATH, null, async ({ request, seeOther }) => {
      if (!request.headers.has("hx-request")) return seeOther("/");
      return new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
    }),
  ];
}
