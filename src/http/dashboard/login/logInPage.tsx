/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { POSTLEDGER, shellQuoted } from "../../../kernel/text/cliInvocation.ts";
import { Field, HiddenFields, Refusal } from "../components/form.tsx";
import { Mark } from "../components/icon.tsx";
import { Document } from "../components/layout.tsx";
import { Copyable } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import type { Assets } from "../frame/assets.ts";
import type { KeysOfPerson } from "./keysOfPerson.ts";

interface Offer extends KeysOfPerson {
  readonly person: string;
}

interface LogInPageProps {
  readonly assets: Assets;
  readonly assetsAt: string;
  /** Where the form goes. */
  readonly action: string;
  /** Where a log-in leads: an address of the dashboard. */
  readonly next: string;
  /** Whom the login proxy names, and what they can log in with; null: nobody. */
  readonly offer: Offer | null;
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
      {props.offer === null ? (
        <SecretForm {...props} />
      ) : (
        <>
          <Refusal text={props.fault} />
          <Offered offer={props.offer} action={props.action} next={props.next} />
          <details>
            <summary>Log in with an API key or a link instead</summary>
            <SecretForm {...props} fault={null} />
          </details>
        </>
      )}
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

type FormProps = Pick<LogInPageProps, "action" | "next">;

const SecretForm: FC<FormProps & Pick<LogInPageProps, "fault">> = ({ action, next, fault }) => (
  <form method="post" action={action} data-log-in>
    <HiddenFields values={{ next }} />
    <Field
      name="secret"
      label="API key or log-in link"
      type="password"
      isRequired
      maxLength={2_000}
      autocomplete="current-password"
      fault={fault ?? undefined}
    />
    <p class="actions">
      <button type="submit" class="primary">
        Log in
      </button>
    </p>
  </form>
);

/**
 * What somebody can log in with whom the login proxy names. It takes a click even for a single key: as a session begins
 * by a form alone, no link and no reload begins one, least of all after a log-out.
 */
const Offered: FC<FormProps & { readonly offer: Offer }> = ({ offer, action, next }) => {
  const { person, keys, isUpToDate } = offer;
  if (keys.length === 0) return <NoKey person={person} isUpToDate={isUpToDate} />;
  return (
    <>
      <p>
        Continue as <strong>{person}</strong>
      </p>
      {keys.map(({ id, name, workspaceName }) => (
        <form method="post" action={action}>
          <HiddenFields values={{ next, key_id: id }} />
          <button type="submit" class="primary">
            {workspaceName} · {name}
          </button>
        </form>
      ))}
    </>
  );
};

const NoKey: FC<Pick<Offer, "person" | "isUpToDate">> = ({ person, isUpToDate }) =>
  isUpToDate ? (
    <div class="notice">
      <p>
        No key belongs to <strong>{person}</strong>, so there is nothing here for you yet. Ask whoever runs
        the service for one, made with:
      </p>
      <p>
        <Copyable
          text={`${POSTLEDGER} api-key create --person ${shellQuoted(person)} --scopes email:read`}
          label="the command"
        />
      </p>
    </div>
  ) : (
    <p class="notice">
      The list of keys is still being built, so it is not known yet which belong to <strong>{person}</strong>.
      Reload the page in a moment.
    </p>
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
