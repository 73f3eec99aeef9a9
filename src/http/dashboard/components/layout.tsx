/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { Assets } from "../frame/assets.ts";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import { NAVIGATION, type NavigationItem, sectionOf } from "../frame/navigation.ts";
import { ActionButton } from "./button.tsx";
import { Icon, Mark } from "./icon.tsx";
import { ReadModelBuildNotice } from "./readModelBuildNotice.tsx";
import { SessionEnded } from "./sessionEnded.tsx";
import { StaleTabNotice } from "./staleTabNotice.tsx";
import { Time } from "./time.tsx";

interface DocumentProps {
  readonly title: string;
  readonly assets: Assets;
  /** The address of an asset's folder, ending in a slash. */
  readonly assetsAt: string;
  readonly files: readonly Parameters<Assets["fileOf"]>[0][];
  readonly children: Child;
}

/**
 * htmx adds no style of its own, which the page's policy would forbid, and runs nothing from attributes. If a part of
 * a page is refused or fails, the part on screen stays.
 */
const HTMX_CONFIG = JSON.stringify({
  includeIndicatorCSS: false,
  history: false,
  extensions: "sse",
  noSwap: [204, 304, "4xx", "5xx"],
});

export const Document: FC<DocumentProps> = ({ title, assets, assetsAt, files, children }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="htmx-config" content={HTMX_CONFIG} />
      <title>{`${title} · Postledger`}</title>
      <link rel="icon" href={assetsAt + assets.fileOf("icon.svg")} type="image/svg+xml" />
      {files.map((name) =>
        name.endsWith(".css") ? (
          <link rel="stylesheet" href={assetsAt + assets.fileOf(name)} />
        ) : (
          <script src={assetsAt + assets.fileOf(name)} defer />
        ),
      )}
    </head>
    <body>{children}</body>
  </html>
);

/** Our script listens for what htmx does, so it comes first: htmx may start as soon as it has arrived. */
const PAGE_FILES = ["dashboard.css", "dashboard.js", "htmx.js"] as const;

interface LayoutProps {
  readonly context: PageContext;
  readonly page: Page;
  /** The result of the form that led here. */
  readonly notice: string | null;
  readonly assets: Assets;
}

/** A page within the common frame. */
export const Layout: FC<LayoutProps> = ({ context, page, notice, assets }) => (
  <Document
    title={page.title}
    assets={assets}
    assetsAt={context.to("/assets/")}
    files={[...PAGE_FILES, ...(page.assets ?? [])]}
  >
    <a class="skip" href="#content">
      Skip to the content
    </a>
    <div class="frame" data-shown={mailOwnerId(context.principal)}>
      <SideBar context={context} />
      <main id="content" class={page.isWide ? "wide" : ""} tabindex={-1}>
        <SessionEnded to={context.to} href={addressOf(context)} />
        <StaleTabNotice context={context} href={addressOf(context)} />
        <Above context={context} page={page} />
        {context.pausedSince === null ? null : <Paused context={context} since={context.pausedSince} />}
        {context.mail === "live" ? null : (
          <p class="notice test-mail">
            Test mail: what is shown and sent here is only simulated. No relay gets it, and live mail is
            listed apart.
          </p>
        )}
        {notice === null ? null : (
          <p class="notice" role="status">
            {notice}
          </p>
        )}
        {context.readModelBuild === null ? null : (
          <ReadModelBuildNotice
            to={context.to}
            build={context.readModelBuild}
            isWithoutRows={page.isWithoutRows === true}
          />
        )}
        {page.body}
        <footer class="page-end">
          <span data-time-zone>Times are in UTC.</span>
        </footer>
      </main>
    </div>
    <KeyboardHelp />
    <dialog id="confirm" aria-label="Confirm" />
  </Document>
);

const Paused: FC<{ readonly context: PageContext; readonly since: EpochMs }> = ({ context, since }) => (
  <p class="notice">
    Sending has been paused since <Time at={since} />: new messages are refused, and what is queued waits.{" "}
    {context.pauseReason === null ? null : `${context.pauseReason} `}
    {context.may("workspace:manage") ? (
      <a href={context.to("/workspace")}>Resume it on the workspace's page</a>
    ) : (
      "A key with the scope workspace:manage can resume it."
    )}
  </p>
);

/** The address that shows this page again; the answer to a form has none, so its section's page. */
function addressOf({ request, path, query, to }: PageContext): string {
  if (request.method !== "GET") return to(sectionOf(path)?.path ?? "/");
  return to(path) + (query.size === 0 ? "" : `?${query}`);
}

const Above: FC<{ readonly context: PageContext; readonly page: Page }> = ({
  context,
  page: { above = [] },
}) =>
  above.length === 0 ? null : (
    <nav class="above" aria-label="Breadcrumb">
      {above.map(({ path, title }, index) => (
        <a href={context.to(path)} data-back={index === above.length - 1 ? "" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );

const SideBar: FC<{ readonly context: PageContext }> = ({ context }) => {
  const otherMail = context.mail === "test" ? "live" : "test";
  return (
    <header class="side">
      <a class="brand" href={context.to("/")}>
        <Mark />
        <span>Postledger</span>
      </a>
      <p class="workspace" title={context.workspaceId}>
        <span class="label">Workspace</span>
        {context.workspaceName}
        {context.session.person === undefined ? null : <span class="label">{context.session.person}</span>}
      </p>
      <nav aria-label="Pages">
        {NAVIGATION.map((group) => (
          <Group context={context} group={group} current={sectionOf(context.path)} />
        ))}
      </nav>
      <div class="side-end">
        {context.mail === "testOnly" || !context.may("email:status") ? null : (
          <ActionButton
            context={context}
            action="/mail"
            verb={`Show ${otherMail} mail`}
            fields={{ show: otherMail }}
            kind="plain"
          />
        )}
        <a href={context.outside("/docs")}>API reference</a>
        <button type="button" class="plain" data-keyboard-help hidden>
          Keyboard <kbd>?</kbd>
        </button>
        <ActionButton context={context} action="/log-out" verb="Log out" kind="plain" />
      </div>
    </header>
  );
};

const Group: FC<{
  readonly context: PageContext;
  readonly group: readonly NavigationItem[];
  readonly current: NavigationItem | null;
}> = ({ context, group, current }) => (
  <ul>
    {group
      .filter(({ scope }) => scope === null || context.may(scope))
      .filter(({ isOfOutbox }) => isOfOutbox === undefined || (context.isOutbox && context.mail === "live"))
      .map((item) => (
        <li>
          <a href={context.to(item.path)} aria-current={item === current ? "page" : undefined}>
            <Icon path={item.icon} />
            {item.title}
          </a>
        </li>
      ))}
  </ul>
);

const KEYS = [
  ["J, K", "Next and previous row"],
  ["Enter", "Open the row"],
  ["Esc", "Back to the list, at the same row; close a dialog"],
  ["/", "Search"],
  ["?", "This help"],
] as const;

const KeyboardHelp: FC = () => (
  <dialog id="keyboard-help" aria-labelledby="keyboard-help-title">
    <h2 id="keyboard-help-title">Keyboard</h2>
    <dl class="facts">
      {KEYS.map(([keys, meaning]) => (
        <div>
          <dt>
            {keys.split(", ").map((key) => (
              <kbd>{key}</kbd>
            ))}
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
    <form method="dialog">
      <button type="submit">Close</button>
    </form>
  </dialog>
);
