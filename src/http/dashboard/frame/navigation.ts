import type { Scope } from "../../../domain/apiKey/scopes.ts";

export interface NavigationItem {
  /** Below the dashboard's own path. */
  readonly path: string;
  readonly title: string;
  /** Null: every key may see it. */
  readonly scope: Scope | null;
  /** Whether it has something to show only while live mail is written to files, and shown. */
  readonly isOfOutbox?: true;
  /** Its icon, as SVG path data on a grid of 24 by 24. */
  readonly icon: string;
}

function item(path: string, title: string, scope: Scope | null, icon: string): NavigationItem {
  return { path, title, scope, icon };
}

/** The navigation in groups, in the order shown. */
export const NAVIGATION: readonly (readonly NavigationItem[])[] = [
  [
    item("/", "Overview", null, "M4 20V10m6 10V4m6 16v-7m-14 7h18"),
    item("/messages", "Messages", "email:status", "M3 6h18v12H3zM3 7l9 6 9-6"),
    {
      ...item("/outbox", "Outbox", "email:read", "M3 13l3-8h12l3 8v6H3zm0 0h5l1.5 3h5L16 13h5"),
      isOfOutbox: true,
    },
  ],
  [
    item("/templates", "Templates", "template:manage", "M4 4h16v16H4zM4 9h16M10 9v11"),
    item(
      "/attachments",
      "Attachments",
      "attachment:manage",
      "M19 11.5l-7.6 7.6a4.5 4.5 0 0 1-6.4-6.4L13 4.8a3 3 0 0 1 4.2 4.2l-7.8 7.9a1.5 1.5 0 0 1-2.1-2.1l7-7",
    ),
    item(
      "/suppressions",
      "Suppressions",
      "suppression:manage",
      "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM5.6 5.6l12.8 12.8",
    ),
    item(
      "/webhooks",
      "Webhooks",
      "webhook:manage",
      "M10 14l-1.5 1.5a3.5 3.5 0 0 1-5-5L7 7a3.5 3.5 0 0 1 5 0m2 3l1.5-1.5a3.5 3.5 0 0 1 5 5L17 17a3.5 3.5 0 0 1-5 0",
    ),
  ],
  [
    item(
      "/senders",
      "Senders",
      "sender:manage",
      "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm4 4v1.5a2.5 2.5 0 0 0 5 0V12a9 9 0 1 0-3.6 7.2",
    ),
    item(
      "/api-keys",
      "API keys",
      "workspace:manage",
      "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm3 1 9-9m-3 3 3 3m-6 0 2 2",
    ),
    item(
      "/audit",
      "Audit",
      "workspace:manage",
      "M12 3l8 3v6c0 4.5-3.4 7.8-8 9-4.6-1.2-8-4.5-8-9V6zm-3.5 9 2.5 2.5 4.5-5",
    ),
    item("/workspace", "Workspace", "workspace:manage", "M4 4h7v7H4zm9 0h7v7h-7zM4 13h7v7H4zm9 0h7v7h-7z"),
  ],
];

/** The item that a page belongs to: the one with the longest path that the page's path begins with. */
export function sectionOf(path: string): NavigationItem | null {
  const items = NAVIGATION.flat().filter(
    (item) => path === item.path || (item.path !== "/" && path.startsWith(`${item.path}/`)),
  );
  return items.sort((a, b) => b.path.length - a.path.length)[0] ?? null;
}
