import { SESSION_PATH } from "../components/sessionEnded.tsx";
import { type DashboardRoute, getInBackground } from "../frame/dashboardRoute.ts";

/** Whether a session goes on: a page asks when somebody comes back to it. One that has ended never gets this far. */
export function sessionCheckRoutes(): readonly DashboardRoute[] {
  return [
    getInBackground(SESSION_PATH, null, async ({ request, seeOther }) => {
      if (!request.headers.has("hx-request")) return seeOther("/");
      return new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
    }),
  ];
}
