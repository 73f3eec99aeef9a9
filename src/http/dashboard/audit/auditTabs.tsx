/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { PageContext } from "../frame/dashboardRoute.ts";

const TABS = [
  { path: "/audit", title: "Audit log" },
  { path: "/audit/seals", title: "Seals" },
  { path: "/audit/read-models", title: "Read models" },
  { path: "/audit/copies", title: "Backups and exports" },
  { path: "/audit/erasures", title: "Erasures" },
] as const;

/** The pages of the audit. `path` is the current page's. */
export const AuditTabs: FC<{
  readonly context: PageContext;
  readonly path: (typeof TABS)[number]["path"];
}> = ({ context, path }) => (
  <nav class="tabs" aria-label="Pages of the audit">
    {TABS.map((tab) => (
      <a href={context.to(tab.path)} aria-current={tab.path === path ? "page" : undefined}>
        {tab.title}
      </a>
    ))}
  </nav>
);
