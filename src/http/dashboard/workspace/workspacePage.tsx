/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { UsageRow } from "../../../../projections/emails/usage/queries.ts";
import { isNearLimit } from "../../../domain/quota/nearLimitRule.ts";
import { capitalized } from "../../../kernel/text/capitalized.ts";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import { utcDay } from "../../../kernel/time.ts";
import type { workspaceJson } from "../../workspace/workspaceResource.ts";
import { ActionButton, LinkButton } from "../components/button.tsx";
import { Bytes } from "../components/bytes.tsx";
import { Heading } from "../components/heading.tsx";
import { type Column, Copyable, type Fact, Facts, RowTable } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import { listAddress } from "../email/emailListPage.tsx";
import { searchText } from "../email/emailSearch.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { COUNTED } from "../overview/overviewCounts.ts";
import type { TagUsage } from "./usageByTag.ts";

type ShownWorkspace = ReturnType<typeof workspaceJson>;

interface WorkspacePageProps {
  readonly context: PageContext;
  readonly workspace: ShownWorkspace;
  /** Null: the key may not read it. */
  readonly usage: ShownUsage | null;
}

/** The outcomes of the workspace's messages. */
export interface ShownUsage {
  /** Newest first. */
  readonly days: readonly UsageRow[];
  /** Most messages first. */
  readonly tags: readonly TagUsage[];
}

/** A workspace: its state, its usage and its limits. */
export const WorkspacePage: FC<WorkspacePageProps> = ({ context, workspace, usage }) => (
  <>
    <Heading
      title={workspace.name}
      beside={<Status status={workspace.sending} label={`sending is ${workspace.sending}`} />}
    >
      {workspace.sending === "paused" ? (
        <ActionButton context={context} action="/workspace/resume" verb="Resume sending" kind="primary" />
      ) : (
        <LinkButton href={context.to("/workspace/pause")} label="Pause sending…" kind="danger" asks />
      )}
    </Heading>
    <Limits workspace={workspace} />
    {usage === null ? null : <Usage days={usage.days} />}
    {usage === null || usage.tags.length === 0 ? null : <Tags context={context} tags={usage.tags} />}
    <section class="section">
      <h2>About it</h2>
      <Facts
        facts={[
          ["Id", <Copyable text={workspace.id} label="the id" />],
          ["Created", <Time at={workspace.created_at} />],
        ]}
      />
    </section>
  </>
);

type ByteLimit = "storage_bytes" | "content_bytes";
type RateLimit = "key_requests_per_second" | "workspace_requests_per_second";

function limitFacts({ limits, usage }: ShownWorkspace): readonly Fact[] {
  const bytes = (title: string, name: ByteLimit | `test_${ByteLimit}`, of: ByteLimit): Fact => [
    title,
    <Used bytes={usage[name]} of={limits[of]} />,
    name,
  ];
  const rate = (title: string, name: RateLimit): Fact => [title, rateText(limits[name]), name];
  const messages = <MessagesToday used={usage.messages_today} of={limits.messages_per_day} />;
  const [hours, days] = [limits.attachment_retention_hours, limits.content_retention_days];
  return [
    ["Messages today (UTC)", messages, "messages_per_day"],
    bytes("Temporary files", "storage_bytes", "storage_bytes"),
    bytes("Content and templates", "content_bytes", "content_bytes"),
    bytes("Files of test mail", "test_storage_bytes", "storage_bytes"),
    bytes("Content of test mail", "test_content_bytes", "content_bytes"),
    rate("Requests with one key", "key_requests_per_second"),
    rate("Requests with all keys", "workspace_requests_per_second"),
    ["Uploads are kept", `${grouped(hours)} hours`, "attachment_retention_hours"],
    ["Content is kept", `${grouped(days)} days`, "content_retention_days"],
    ["Archives as attachments", limits.archive_attachments ? "taken" : "refused", "archive_attachments"],
  ];
}

const Limits: FC<Pick<WorkspacePageProps, "workspace">> = ({ workspace }) => (
  <section class="section">
    <h2>Limits</h2>
    <Facts facts={limitFacts(workspace)} />
    <p class="soft">
      Whoever runs the service sets them:{" "}
      <code>{`${POSTLEDGER} workspace limits ${workspace.id} --help`}</code> lists how.
    </p>
  </section>
);

const MessagesToday: FC<{ readonly used: number; readonly of: number }> = ({ used, of }) => (
  <>
    {grouped(used)} of {grouped(of)} <span class="soft">(without mail to the simulator)</span>
    <NearLimit used={used} of={of} />
  </>
);

const NearLimit: FC<{ readonly used: number; readonly of: number }> = ({ used, of }) =>
  used < of && !isNearLimit(used, of) ? null : (
    <>
      {" "}
      <Status status="warning" label={used < of ? "near the limit" : "at the limit"} />
    </>
  );

const Used: FC<{ readonly bytes: number; readonly of: number }> = ({ bytes, of }) => (
  <>
    <Bytes bytes={bytes} /> of <Bytes bytes={of} />
    <NearLimit used={bytes} of={of} />
  </>
);

function rateText(perSecond: number | null): string {
  return perSecond === null ? "no limit" : `${grouped(perSecond)} a second, on each instance`;
}

const COUNTS = [...COUNTED, "canceled"] as const;

function countColumn<Name extends (typeof COUNTS)[number]>(
  name: Name,
): Column<Readonly<Record<Name, number>>> {
  const cell = (row: Readonly<Record<Name, number>>) => grouped(row[name]);
  return { title: capitalized(name), cell, isNumber: true };
}

const Usage: FC<{ readonly days: readonly UsageRow[] }> = ({ days }) => (
  <section class="section">
    <h2>Usage of the last 30 days</h2>
    <p class="soft">
      Mail to the simulator is counted here, but not against the limit of a day. “Sent” counts each message
      that was ever sent, whatever became of it later.
    </p>
    {days.length === 0 ? (
      <p class="soft">No message was accepted. Days without any are left out here.</p>
    ) : (
      <RowTable
        label="Messages by day in UTC, newest first"
        rows={days}
        idOf={({ start }) => utcDay(start)}
        columns={[{ title: "Day (UTC)", cell: ({ start }) => utcDay(start) }, ...COUNTS.map(countColumn)]}
      />
    )}
  </section>
);

const Tags: FC<{ readonly context: PageContext; readonly tags: readonly TagUsage[] }> = ({
  context,
  tags,
}) => (
  <section class="section">
    <h2>Tags of the last 30 days</h2>
    <RowTable
      label="Messages by tag, most messages first"
      rows={tags}
      idOf={({ tag }) => `tag-${encodeURIComponent(tag)}`}
      columns={[
        {
          title: "Tag",
          cell: ({ tag }) => (
            <a class="clip" href={listAddress(context, searchText({ tag }))}>
              {tag}
            </a>
          ),
        },
        ...COUNTED.map(countColumn),
      ]}
    />
  </section>
);
