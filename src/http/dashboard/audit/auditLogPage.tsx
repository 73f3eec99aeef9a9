/** @jsxImportSource hono/jsx */

import type { FC } from "hono/jsx";
import { AUDIT_TARGETS, WORKSPACE_ACTIONS } from "../../../../projections/auditLog/auditActions.ts";
import type { AuditRow } from "../../../../projections/auditLog/queries.ts";
import { keyNameWithPerson } from "../../../domain/apiKey/person.ts";
import { SCOPES, type Scope } from "../../../domain/apiKey/scopes.ts";
import { capitalized } from "../../../kernel/text/capitalized.ts";
import { excerpt } from "../../../kernel/text/textLength.ts";
import { isRfc3339 } from "../../../kernel/time.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { Field, FilterForm, Refusal, Select } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { type Column, CsvButton, Empty, RowList, withFilter } from "../components/list.tsx";
import { Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { AuditTabs } from "./auditTabs.tsx";

/** The audit log's filter, as in the page's address; "" for no filter. */
export type AuditFilter = Readonly<Record<(typeof AUDIT_FILTERS)[number], string>>;
export const AUDIT_FILTERS = ["action", "actor", "target_type", "target_id", "from", "before"] as const;

interface AuditLogProps {
  readonly context: PageContext;
  readonly page: RowPage<AuditRow>;
  readonly filter: AuditFilter;
  /** The filter's fault; null without one. */
  readonly fault: string | null;
}

/** Who did what, when. */
export const AuditLog: FC<AuditLogProps> = ({ context, page, filter, fault }) => (
  <>
    <Heading title="Audit log">
      <CsvButton context={context} path="/audit/log.csv" filter={filter} />
    </Heading>
    <AuditTabs context={context} path="/audit" />
    <Filter context={context} filter={filter} />
    <Refusal text={fault} />
    <RowList
      context={context}
      path="/audit"
      rowsBelow={null}
      label="Entries of the audit log, newest first"
      page={page}
      filter={filter}
      empty={
        <Empty title="Nothing matches">
          <p>
            What keys, the command line and the service did to this workspace is listed here. Sends are in the
            list of messages.
          </p>
          <p>
            <a href={context.to("/audit")}>Show everything</a>
          </p>
        </Empty>
      }
      columns={columns(context)}
    />
  </>
);

const Filter: FC<Pick<AuditLogProps, "context" | "filter">> = ({ context, filter }) => (
  <FilterForm action={context.to("/audit")} label="Find entries">
    <Select
      name="target_type"
      label="Target"
      value={filter.target_type}
      none="Any"
      options={AUDIT_TARGETS.filter((type) => type !== "instance").map((type) => ({
        value: type,
        label: asWords(type),
      }))}
    />
    <Select
      name="action"
      label="Action"
      value={filter.action}
      none="Any"
      options={WORKSPACE_ACTIONS.map((action) => ({ value: action, label: asWords(action) }))}
    />
    <Field name="actor" label="Actor" value={filter.actor} placeholder="key id" maxLength={100} />
    <Field name="from" label="From (UTC)" type="date" value={filter.from} />
    <Field name="before" label="Before (UTC)" type="date" value={filter.before} />
    {filter.target_id === "" ? null : <input type="hidden" name="target_id" value={filter.target_id} />}
  </FilterForm>
);

/** `api_key.secret_rotated` for people: "API key secret rotated". */
function asWords(name: string): string {
  return capitalized(name.replaceAll(/[._]/g, " ").replace(/\bapi\b/, "API"));
}

function columns(context: PageContext): readonly Column<AuditRow>[] {
  return [
    {
      title: "Action",
      cell: ({ action, details }) => (
        <>
          <a class="quiet" href={context.to(withFilter("/audit", { action }))}>
            {asWords(action)}
          </a>
          <Details details={details} />
        </>
      ),
    },
    { title: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "Target", cell: ({ target }) => <Target context={context} target={target} /> },
    {
      title: "Actor",
      cell: ({ actor: { type, id, name, person } }) => (
        <a class="quiet" href={context.to(withFilter("/audit", { actor: id ?? type }))}>
          {name === null ? (id ?? ACTORS[type] ?? type) : keyNameWithPerson({ name, person })}
        </a>
      ),
    },
  ];
}

const ACTORS: Readonly<Record<string, string>> = {
  command_line: "Command line",
  verification_link: "Verification link",
  system: "Service",
};

/** Longer details are cut off; the API has them whole. */
const DETAILS_CHARACTERS_MAX = 200;

const Details: FC<Pick<AuditRow, "details">> = ({ details }) => {
  const text = Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${valueText(value)}`)
    .join(" · ");
  if (text === "") return null;
  const shown = excerpt(text, DETAILS_CHARACTERS_MAX);
  return <div class="soft details">{shown === text ? text : `${shown}…`}</div>;
};

function valueText(value: unknown): string {
  if (Array.isArray(value))
    return SCOPES.every((scope) => value.includes(scope)) ? "all" : value.map(valueText).join(", ");
  if (typeof value === "string" && isRfc3339(value)) return `${value.slice(0, 16).replace("T", " ")} UTC`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The page of each kind of target, and the scope needed to see it. */
const PAGES: Readonly<Record<string, { readonly path: string; readonly scope: Scope }>> = {
  api_key: { path: "/api-keys", scope: "workspace:manage" },
  sender: { path: "/senders", scope: "sender:manage" },
  template: { path: "/templates", scope: "template:manage" },
  webhook_endpoint: { path: "/webhooks", scope: "webhook:manage" },
  email: { path: "/messages", scope: "email:status" },
  attachment: { path: "/attachments", scope: "attachment:manage" },
  erasure: { path: "/audit/erasures", scope: "workspace:manage" },
  suppression: { path: "/suppressions", scope: "suppression:manage" },
};

/** The path of a target's page; null if it has none that the session may see. A suppression is found by its address. */
function pageOf({ may }: PageContext, { type, id, label }: AuditRow["target"]): string | null {
  const page = PAGES[type];
  if (page === undefined || id === null || !may(page.scope)) return null;
  if (type !== "suppression") return `${page.path}/${encodeURIComponent(id)}`;
  return label === null ? null : withFilter(page.path, { address: label });
}

const Target: FC<Pick<AuditLogProps, "context"> & Pick<AuditRow, "target">> = ({ context, target }) => {
  const { type, id, label } = target;
  const page = pageOf(context, target);
  const text = label ?? (type === "workspace" ? "this workspace" : id);
  return (
    <span class="clip target" title={text ?? undefined}>
      <span class="soft">{asWords(type)}</span> {page === null ? text : <a href={context.to(page)}>{text}</a>}
    </span>
  );
};
