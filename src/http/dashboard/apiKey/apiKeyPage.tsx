/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { ExpiringKey } from "../../../../projections/apiKeys.ts";
import { keyNameWithPerson } from "../../../domain/apiKey/person.ts";
import { SCOPES, type Scope } from "../../../domain/apiKey/scopes.ts";
import { CREATE_KEY, POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { issuedKey } from "../../apiKey/apiKeyHandlers.ts";
import type { apiKeyJson } from "../../apiKey/apiKeyResource.ts";
import { expiryVerb, namedKeys } from "../../apiKey/expiryWarningText.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { LinkButton } from "../components/button.tsx";
import { Refusal } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Facts, RowList, withFilter } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Hour, Time } from "../components/time.tsx";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";

/** A key as the API shows it, without its secret. */
export type ApiKeyJson = ReturnType<typeof apiKeyJson>;

/** A new key as the API shows it once. */
type IssuedKeyJson = Awaited<ReturnType<typeof issuedKey>>;

export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  "email:send": "send and cancel messages",
  "email:read": "read messages and usage",
  "email:status": "see what became of messages, without their content, and usage",
  "webhook:manage": "manage webhook endpoints and their deliveries",
  "template:manage": "manage templates",
  "attachment:manage": "manage attachments",
  "suppression:manage": "manage suppressions",
  "feedback:write": "report what became of messages",
  "sender:manage": "manage senders and domains",
  "workspace:manage": "manage keys, pause sending, erase, read the audit log",
};

export const API_KEYS = [{ path: "/api-keys", title: "API keys" }];

interface ApiKeyList {
  readonly page: RowPage<ApiKeyJson>;
  /** Those in use that expire soon, or did lately. */
  readonly ending: readonly ExpiringKey[];
  readonly now: EpochMs;
}

/** The keys of a workspace, newest first. */
export function apiKeyListPage(context: PageContext, { page, ending, now }: ApiKeyList): Page {
  return {
    title: "API keys",
    body: (
      <>
        <Heading title="API keys">
          <LinkButton href={context.to("/api-keys/new")} label="Create a key" kind="primary" />
        </Heading>
        {ending.length === 0 ? null : <Ending context={context} keys={ending} now={now} />}
        <RowList
          context={context}
          path="/api-keys"
          label="API keys, newest first"
          page={page}
          empty={null}
          columns={[
            {
              title: "Name",
              cell: ({ name, person, test }) => (
                <>
                  <span class="clip">{test ? `${name} (test)` : name}</span>
                  {keyNameWithPerson({ name, person }) === name ? null : (
                    <span class="clip soft">{person}</span>
                  )}
                </>
              ),
            },
            { title: "Status", cell: ({ status }) => <Status status={status} /> },
            {
              title: "Last used",
              cell: ({ last_used_at: at }) => (
                <>
                  <span class="narrow soft">used </span>
                  {at ? <Hour from={at} /> : "never"}
                </>
              ),
            },
            {
              title: "Expires",
              cell: ({ expires_at: at }) => (
                <>
                  <span class="narrow soft">expires </span>
                  {at ? <Time at={at} /> : "never"}
                </>
              ),
            },
            {
              title: "Scopes",
              cell: ({ scopes }) => (
                <span class="clip short">
                  {SCOPES.every((scope) => scopes.includes(scope)) ? "all scopes" : scopes.join(", ")}
                </span>
              ),
            },
          ]}
        />
      </>
    ),
  };
}

const Ending: FC<{
  readonly context: PageContext;
  readonly keys: readonly ExpiringKey[];
  readonly now: EpochMs;
}> = ({ context, keys, now }) => {
  const { shown, others } = namedKeys(keys);
  return (
    <div class="notice">
      <p>What uses these keys fails once they have expired. Give it other keys:</p>
      <ul>
        {shown.map((key) => (
          <li>
            <a href={context.to(`/api-keys/${key.id}`)}>{key.name}</a> {expiryVerb(key, now)} at{" "}
            <Time at={key.expiresAt} />
          </li>
        ))}
        {others === null ? null : <li>{others}</li>}
      </ul>
      <p>
        For one that lasts: <LastingCommand context={context} />
      </p>
    </div>
  );
};

/** The command that makes a key without an expiry, complete as it stands. */
export const LastingCommand: FC<{ readonly context: PageContext }> = ({ context }) => (
  <Copyable
    text={`${POSTLEDGER} ${CREATE_KEY} --workspace ${context.workspaceId} --name shop`}
    label="the command"
  />
);

/** The names of keys, by id. */
type KeyNames = ReadonlyMap<string, string>;

function keyLink(context: PageContext, id: string, names: KeyNames) {
  const name = names.get(id) ?? "a key";
  return [<a href={context.to(`/api-keys/${id}`)}>{name}</a>, " ", <code class="soft">{id}</code>];
}

const Each: FC<{ readonly texts: readonly string[] }> = ({ texts }) => (
  <>
    {texts.map((text) => (
      <div>
        <code>{text}</code>
      </div>
    ))}
  </>
);

/** One key: what it may do, where it comes from, and actions on it. `refused` says why a form was refused. */
export function apiKeyPage(
  context: PageContext,
  apiKey: ApiKeyJson,
  names: KeyNames,
  refused?: { readonly status: number; readonly text: string },
): Page {
  const { id, name, status, scopes, senders, client_ranges: ranges } = apiKey;
  const { issued_by: issuedBy, rotated_from: rotatedFrom } = apiKey;
  return {
    title: name,
    above: API_KEYS,
    status: refused?.status,
    body: (
      <>
        <Heading title={name} beside={<Status status={status} />}>
          <LinkButton href={context.to(`/api-keys/${id}/rename`)} label="Rename" />
          {status === "active" ? (
            <>
              {apiKey.person === null ? (
                <LinkButton href={context.to(`/api-keys/${id}/rotate`)} label="Rotate…" asks />
              ) : null}
              <LinkButton href={context.to(`/api-keys/${id}/revoke`)} label="Revoke…" kind="danger" asks />
            </>
          ) : null}
        </Heading>
        <Refusal text={refused?.text} />
        {id === context.principal.keyId ? <p class="notice">You are logged in with this key.</p> : null}
        <Facts
          facts={[
            ["Id", <Copyable text={id} label="the id" />],
            ["Person", apiKey.person],
            ["Mail", apiKey.test ? "test mail: only simulated" : "live"],
            [
              "May",
              scopes.length === 0
                ? "nothing: it has no scopes"
                : scopes.map((scope) => (
                    <div>
                      <code>{scope}</code> <span class="soft">{SCOPE_MEANINGS[scope as Scope]}</span>
                    </div>
                  )),
            ],
            ["Sends from", senders === null ? "every sender of the workspace" : <Each texts={senders} />],
            ["Accepted from", ranges === null ? "every address" : <Each texts={ranges} />],
            [
              "Messages",
              context.may("email:status") ? (
                <a href={context.to(withFilter("/messages", { q: `apikey:${id}` }))}>sent with it</a>
              ) : null,
            ],
            ["Last used", apiKey.last_used_at === null ? "never" : <Hour from={apiKey.last_used_at} />],
            ["Expires", apiKey.expires_at === null ? "never" : <Time at={apiKey.expires_at} />],
            ["Created", <Time at={apiKey.created_at} />],
            ["Issued by", issuedBy === null ? "whoever runs the service" : keyLink(context, issuedBy, names)],
            ["Replaces", rotatedFrom && keyLink(context, rotatedFrom, names)],
          ]}
        />
      </>
    ),
  };
}

/** The only page that ever shows a key itself. The key is in no address and no cookie, so it cannot be shown again. */
export function newKeyPage(context: PageContext, issued: IssuedKeyJson): Page {
  const { id, key, person, expires_at: expiresAt, missing_senders: missing } = issued;
  return {
    title: "The new key",
    above: API_KEYS,
    body: (
      <>
        {key === null ? (
          <>
            <Heading title="The key is ready" />
            <p>
              There is nothing to copy: <strong>{person}</strong> logs in with it by single sign-on.
            </p>
          </>
        ) : (
          <>
            <Heading title="Copy the new key" />
            <p>
              Only this page shows it. Nobody can read it again later, not even the operator of the service.
            </p>
            <div class="card">
              <Copyable text={key} label="the key" />
            </div>
            <p>
              Keep it where secrets are kept, and send it as <code>Authorization: Bearer …</code>.
            </p>
          </>
        )}
        {expiresAt === null ? null : (
          <p>
            It stops working at <Time at={expiresAt} />.
          </p>
        )}
        {missing.map((sender) => (
          <MissingSender sender={sender} />
        ))}
        <p class="actions">
          <LinkButton
            href={context.to(`/api-keys/${id}`)}
            label={key === null ? "To the key" : "I have copied it"}
            kind="primary"
          />
        </p>
      </>
    ),
  };
}

/** Says of a sender that a new key is limited to, and the workspace lacks, what the key cannot do until it is added. */
const MissingSender: FC<{ readonly sender: string }> = ({ sender }) => (
  <p class="notice">
    <code>{sender}</code> is not a sender of this workspace yet:{" "}
    {sender.includes("@")
      ? "the key cannot send from it until it is added."
      : "until it is added, the key can send only from addresses there that are senders."}
  </p>
);
