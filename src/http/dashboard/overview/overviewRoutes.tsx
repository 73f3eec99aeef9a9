import { Heading } from "../components/heading.tsx";
import { Facts } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { DashboardRoute } from "../frame/dashboardRoute.ts";

/** The first page: how the service is. */
export function overviewRoutes({ readiness }: DashboardOptions): readonly DashboardRoute[] {
  return [
    {
      method: "GET",
      path: "/",
      scope: null,
      async answer() {
        const checks = await readiness();
        return {
          title: "Overview",
          body: (
            <>
              <Heading title="Overview" />
              <Facts
                facts={Object.entries(checks).map(([name, { ok, detail }]) => [
                  name.replaceAll("_", " "),
                  <>
                    <Status status={ok ? "ok" : "failed"} label={ok ? "well" : "not well"} /> {detail}
                  </>,
                ])}
              />
            </>
          ),
        };
      },
    },
  ];
}
