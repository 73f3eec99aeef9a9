/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { Field } from "../components/form.tsx";
import { Mark } from "../components/icon.tsx";
import { Document } from "../components/layout.tsx";
import { Status } from "../components/status.tsx";
import type { Assets } from "../frame/assets.ts";

interface LogInPageProps {
  readonly assets: Assets;
  readonly assetsAt: string;
  /** Where the form goes. */
  readonly action: string;
  /** Where a log-in leads: an address of the dashboard. */
  readonly next: string;
  /** Why the log-in failed; null before the first attempt. */
  readonly fault: string | null;
  /** What led here, for instance the end of a session. */
  readonly notice: string | null;
  /** Whether the service does its work. */
  readonly isReady: boolean;
  /** The file with a key to begin with; null if there is none, or others than this machine reach the page. */
  readonly trialKeyFile: string | null;
  readonly version: string;
  readonly docsAt: string;
}

export const LogInPage: FC<LogInPageProps> = (props) => (
  <Document
    title="Log in"
    assets={props.assets}
    assetsAt={props.assetsAt}
    files={["dashboard.css", "logIn.js"]}
  >
    <main class="log-in">
      <Brand />
      <h1>Log in</h1>
      {props.notice === null ? null : (
        <p class="notice" role="status">
          {props.notice}
        </p>
      )}
      <form method="post" action={props.action} data-log-in>
        <input type="hidden" name="next" value={props.next} />
        <Field
          name="secret"
          label="API key or log-in link"
          type="password"
          isRequired
          maxLength={2_000}
          autocomplete="current-password"
          fault={props.fault ?? undefined}
        />
        <p class="actions">
          <button type="submit" class="primary">
            Log in
          </button>
        </p>
      </form>
      {props.trialKeyFile === null ? null : (
        <p>
          To begin, paste the key from <code>{props.trialKeyFile}</code> in the data directory, or open the
          link that the first start printed.
        </p>
      )}
      <p class="soft">
        Any API key logs in: the dashboard then shows and does what that key may. On the machine that runs the
        service, in its folder or its container, <code>{POSTLEDGER} dashboard link</code> prints a link that
        logs in once.
      </p>
      <p class="log-in-end">
        {props.isReady ? (
          <Status status="ok" label="The service is running" />
        ) : (
          <Status status="failed" label="The service is not ready" />
        )}
        <span>
          <a href={props.docsAt}>API reference</a> · version {props.version}
        </span>
      </p>
    </main>
  </Document>
);

const Brand: FC = () => (
  <p class="brand">
    <Mark />
    <span>Postledger</span>
  </p>
);

interface BarePageProps extends Pick<LogInPageProps, "assets" | "assetsAt"> {
  readonly title: string;
  readonly children: Child;
}

/** A page without a session: for somebody who is not logged in, or a request that failed before we knew the user. */
export const BarePage: FC<BarePageProps> = ({ title, assets, assetsAt, children }) => (
  <Document title={title} assets={assets} assetsAt={assetsAt} files={["dashboard.css"]}>
    <main class="log-in">
      <Brand />
      <h1>{title}</h1>
      {children}
    </main>
  </Document>
);
