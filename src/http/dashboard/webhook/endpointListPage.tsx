/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { FailuresInARow } from "../../../../projections/webhookDeliveries/queries.ts";
import type { WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import { counted } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, epochMs } from "../../../kernel/time.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { LinkButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { Empty, RowList } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Ago } from "../components/time.tsx";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import type { EndpointHealth } from "./endpointHealth.ts";

export type ListedEndpoint = WebhookEndpointRow & EndpointHealth;

const REASONS = {
  manual: "on request",
  failing: "nothing got through for five days",
  gone: "it answered that it is gone",
} as const;

/** Why an endpoint is disabled, in words; null if it is not. */
export function disabledBecause({ disabledReason }: WebhookEndpointRow): string | null {
  return disabledReason === null ? null : (REASONS[disabledReason as keyof typeof REASONS] ?? disabledReason);
}

/** Active, failing or disabled. */
export const EndpointStatus: FC<{
  readonly endpoint: WebhookEndpointRow & Pick<EndpointHealth, "failing">;
}> = ({ endpoint: { status, failing } }) =>
  status === "active" && failing !== null ? (
    <Status status="failing" label="active, failing" />
  ) : (
    <Status status={status} />
  );

const When: FC<{ readonly at: string | null; readonly now: EpochMs }> = ({ at, now }) =>
  at === null ? <span class="soft">not recently</span> : <Ago at={epochMs(at)} now={now} />;

/** Failures since the last success. */
export const InARow: FC<{ readonly failing: FailuresInARow; readonly now: EpochMs }> = ({ failing, now }) => (
  <>
    {counted(failing.failures, "attempt", "attempts in a row")}, the first{" "}
    <Ago at={epochMs(failing.since)} now={now} />
  </>
);

const Failed: FC<{ readonly row: ListedEndpoint; readonly now: EpochMs }> = ({ row, now }) =>
  row.failing === null ? (
    row.gaveUpAt === null ? (
      <span class="soft">none recently</span>
    ) : (
      <>
        gave up <Ago at={epochMs(row.gaveUpAt)} now={now} />
      </>
    )
  ) : (
    <InARow failing={row.failing} now={now} />
  );

function eventsText(types: readonly string[] | null): string {
  if (types === null) return "all";
  const [first = "", ...more] = types;
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}

export function listPage(context: PageContext, page: RowPage<ListedEndpoint>, now: EpochMs): Page {
  return {
    title: "Webhooks",
    isWide: true,
    body: (
      <>
        <Heading title="Webhooks">
          <LinkButton href={context.to("/webhooks/new")} label="Add endpoint" kind="primary" />
        </Heading>
        <RowList
          context={context}
          path="/webhooks"
          label="Webhook endpoints, newest first"
          page={page}
          empty={
            <Empty title="No endpoints yet">
              <p>
                Add the address of a program of yours, and it is told of every message: sent, delayed,
                bounced. Each call is signed, and retried for days if nobody answers.
              </p>
            </Empty>
          }
          columns={[
            {
              title: "URL",
              cell: ({ url }) => <span class="clip">{url.replace(/^https:\/\//, "")}</span>,
            },
            { title: "Status", cell: (row) => <EndpointStatus endpoint={row} /> },
            { title: "Events", cell: ({ eventTypes }) => eventsText(eventTypes), isMinor: true },
            {
              title: "Last delivered",
              cell: (row) => <When at={row.deliveredAt} now={now} />,
              isMinor: true,
            },
            { title: "Trouble", cell: (row) => <Failed row={row} now={now} />, isMinor: true },
          ]}
        />
      </>
    ),
  };
}
