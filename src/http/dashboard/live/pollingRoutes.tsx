/** @jsxImportSource hono/jsx */
import { BUILD_PATH, BuildNotice, WITHOUT_ROWS } from "../components/buildNotice.tsx";
import { type DashboardRoute, getInBackground } from "../frame/dashboardRoute.ts";

/** How far the read models are that are being built: what a page that says so asks for again and again. */
export function readModelBuildRoutes(): readonly DashboardRoute[] {
  return [
    getInBackground(BUILD_PATH, null, async ({ request, query, readModelBuild: build, to, seeOther }) => {
      if (!request.headers.has("hx-request")) return seeOther("/");
      const isWithoutRows = query.has(WITHOUT_ROWS);
      // htmx then loads the page that has asked. Nobody can have typed anything there.
      if (build === null && isWithoutRows)
        return new Response(null, { headers: { "hx-refresh": "true", "cache-control": "no-store" } });
      return {
        title: "Read models",
        body: <BuildNotice to={to} build={build} isWithoutRows={isWithoutRows} />,
      };
    }),
  ];
}
