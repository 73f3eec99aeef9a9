/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { WebhookDeliveryRow } from "../../../../projections/webhookDeliveries/queries.ts";
import { DELIVERY_STATUSES } from "../../../domain/webhookDelivery/state.ts";
import { WEBHOOK_EVENT_TYPES } from "../../../domain/webhookEventTypes.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { Page as ListPage } from "../../lists/cursorPaging.ts";
import { ActionButton, LinkButton } from "../components/button.tsx";
import { Field, FilterForm, Select } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Empty, Facts, RowList } from "../components/list.tsx";
import { Ago, Time } from "../components/time.tsx";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import { DeliveryStatus, messageOf } from "./deliveryPage.tsx";
import { disabledBecause, EndpointStatus, InARow, type ListedEndpoint } from "./endpointListPage.tsx";
import { WEBHOOKS } from "./endpointOfPath.ts";

/** Which deliveries to show. */
export interface DeliveryFilters {
  readonly status?: WebhookDeliveryRow["status"];
  readonly eventType?: string;
  /** As typed: what is no id finds nothing. */
  readonly emailId?: string;
}

interface LastFailure {
  readonly deliveryId: string;
  /** Why, as the end of a sentence. */
  readonly why: string;
}

interface Shown {
  readonly endpoint: ListedEndpoint;
  /** Why calls to it are blocked, if they fail and that is known. */
  readonly blockedReason: string | null;
  /** The last failed call, while calls fail. */
  readonly lastFailure: LastFailure | null;
  readonly filters: DeliveryFilters;
  readonly page: ListPage<WebhookDeliveryRow>;
  readonly now: EpochMs;
}

export function endpointPage(context: PageContext, shown: Shown): Page {
  const { endpoint } = shown;
  return {
    title: endpoint.url,
    above: [WEBHOOKS],
    isWide: true,
    body: (
      <>
        <Heading
          title={endpoint.url.replace(/^https:\/\//, "")}
          beside={<EndpointStatus endpoint={endpoint} />}
        >
          <Actions context={context} endpoint={endpoint} />
        </Heading>
        {endpoint.status === "active" ? null : (
          <p>
            Disabled {disabledBecause(endpoint)}: it is sent nothing. What happens meanwhile is kept for 14
            days and can be recovered once it is enabled.
          </p>
        )}
        {shown.blockedReason === null ? null : <p class="standing bad">{shown.blockedReason}</p>}
        <LastFailed context={context} shown={shown} />
        <EndpointFacts endpoint={endpoint} now={shown.now} />
        <Deliveries context={context} shown={shown} />
        <p class="actions">
          <LinkButton
            href={context.to(`/webhooks/${endpoint.id}/delete`)}
            label="Delete endpoint…"
            kind="danger"
            asks
          />
        </p>
      </>
    ),
  };
}

const Actions: FC<{ readonly context: PageContext; readonly endpoint: ListedEndpoint }> = ({
  context,
  endpoint,
}) => {
  const at = (action: string) => `/webhooks/${endpoint.id}/${action}`;
  const isActive = endpoint.status === "active";
  return (
    <>
      {isActive ? (
        <ActionButton context={context} action={at("test")} verb="Send test" />
      ) : (
        <ActionButton context={context} action={at("enable")} verb="Enable" kind="primary" />
      )}
      <LinkButton href={context.to(at("edit"))} label="Edit" />
      <LinkButton href={context.to(at("rotate"))} label="Rotate secret…" asks />
      {isActive ? <LinkButton href={context.to(at("disable"))} label="Disable…" asks /> : null}
    </>
  );
};

/** What the endpoint's owner has to fix. */
const LastFailed: FC<{ readonly context: PageContext; readonly shown: Shown }> = ({
  context,
  shown: { endpoint, lastFailure, blockedReason },
}) =>
  // If calls are blocked, the reason is shown above and explains the failure.
  lastFailure === null || blockedReason !== null ? null : (
    <p class="standing bad">
      The last call failed because {lastFailure.why}.{" "}
      <a href={context.to(`/webhooks/${endpoint.id}/deliveries/${lastFailure.deliveryId}`)}>Look at it</a>
    </p>
  );

const EndpointFacts: FC<{ readonly endpoint: ListedEndpoint; readonly now: EpochMs }> = ({
  endpoint,
  now,
}) => {
  const { url, id, description, eventTypes, include, deliveredAt, failing, gaveUpAt } = endpoint;
  return (
    <Facts
      facts={[
        ["Description", description],
        ["URL", <Copyable text={url} label="the URL" />],
        ["Events", eventTypes === null ? "all" : eventTypes.join(", ")],
        [
          "Includes",
          include.length === 0 ? "neither addresses nor subjects of messages" : include.join(", "),
        ],
        ["Last delivered", deliveredAt === null ? "not recently" : <Time at={deliveredAt} />],
        [
          failing === null ? "Last given up" : "Failing",
          failing === null ? (
            gaveUpAt === null ? (
              "not recently"
            ) : (
              <Time at={gaveUpAt} />
            )
          ) : (
            <InARow failing={failing} now={now} />
          ),
        ],
        ["Added", <Time at={endpoint.createdAt} />],
        ["Id", <Copyable text={id} label="the id" />],
      ]}
    />
  );
};

const Deliveries: FC<{ readonly context: PageContext; readonly shown: Shown }> = ({ context, shown }) => {
  const { to } = context;
  const { endpoint, filters, page, now } = shown;
  const here = `/webhooks/${endpoint.id}`;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <section class="section" aria-labelledby="deliveries">
      <div class="heading">
        <h2 id="deliveries">Deliveries</h2>
        <div class="actions">
          {endpoint.status === "active" ? (
            <LinkButton href={to(`${here}/recover`)} label="Recover missed…" asks />
          ) : null}
        </div>
      </div>
      <Filters action={to(here)} filters={filters} />
      <RowList
        context={context}
        path={here}
        rowsBelow={`${here}/deliveries`}
        label="Deliveries, newest first"
        page={page}
        filter={{ status: filters.status, event_type: filters.eventType, email_id: filters.emailId }}
        empty={
          <Empty title={isFiltered ? "None like that" : "Nothing was sent here yet"}>
            <p>{isFiltered ? "Choose other filters to see the rest." : "Send a test, or a message."}</p>
          </Empty>
        }
        columns={[
          { title: "Event", cell: ({ eventType }) => eventType },
          { title: "Status", cell: (row) => <DeliveryStatus delivery={row} /> },
          { title: "Message", cell: (row) => <span class="clip">{messageOf(context, row)}</span> },
          { title: "Attempts", cell: ({ attempts }) => attempts, isNumber: true, isMinor: true },
          {
            title: "Next attempt",
            cell: ({ dueAt }) => (dueAt === null ? "" : dueAt <= now ? "due" : <Ago at={dueAt} now={now} />),
            isMinor: true,
          },
          { title: "Happened", cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </section>
  );
};

const Filters: FC<{ readonly action: string; readonly filters: DeliveryFilters }> = ({ action, filters }) => (
  <FilterForm action={action} label="Find deliveries">
    <Select
      name="status"
      label="Status"
      value={filters.status ?? ""}
      none="Any"
      options={DELIVERY_STATUSES}
    />
    <Select
      name="event_type"
      label="Event"
      value={filters.eventType ?? ""}
      none="Any"
      options={WEBHOOK_EVENT_TYPES}
    />
    <Field name="email_id" label="Message id" value={filters.emailId ?? ""} />
  </FilterForm>
);
