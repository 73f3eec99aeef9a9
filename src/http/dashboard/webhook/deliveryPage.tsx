/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { WebhookDeliveryRow } from "../../../../projections/webhookDeliveries/queries.ts";
import type { WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import { type EpochMs, epochMs } from "../../../kernel/time.ts";
import type { deliveryWithAttempts } from "../../webhookDelivery/webhookDeliveryHandlers.ts";
import { emailIdOf } from "../../webhookDelivery/webhookDeliveryResource.ts";
import { ActionButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Facts } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Ago, Time } from "../components/time.tsx";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import { WEBHOOKS } from "./endpointOfPath.ts";

type WholeDelivery = Awaited<ReturnType<typeof deliveryWithAttempts>>;
type Attempt = WholeDelivery["attempt_log"][number];

/** How many of the newest attempts to show; the API has the rest. */
const ATTEMPTS_SHOWN_MAX = 50;

/** The status of a delivery; one that waits after a failure differs from one never tried. */
export const DeliveryStatus: FC<{ readonly delivery: Pick<WebhookDeliveryRow, "status" | "attempts"> }> = ({
  delivery: { status, attempts },
}) => (
  <Status status={status} label={status === "pending" && attempts > 0 ? "pending, trying again" : status} />
);

interface Shown {
  readonly endpoint: WebhookEndpointRow;
  readonly row: WebhookDeliveryRow;
  readonly delivery: WholeDelivery;
  /** Whether no call to the endpoint has succeeded since its last failure. */
  readonly isFailing: boolean;
  readonly now: EpochMs;
}

export function deliveryPage(context: PageContext, shown: Shown): Page {
  const { endpoint, row, delivery } = shown;
  const here = `/webhooks/${endpoint.id}`;
  return {
    title: `Delivery of ${row.eventType}`,
    above: [WEBHOOKS, { path: here, title: "Endpoint" }],
    body: (
      <>
        <Heading title={row.eventType} beside={<DeliveryStatus delivery={row} />}>
          {canRetry(shown) ? (
            <ActionButton
              context={context}
              action={`${here}/deliveries/${row.id}/retry`}
              verb="Deliver again"
              kind="primary"
            />
          ) : null}
        </Heading>
        <p>{standing(shown)}</p>
        <Facts
          facts={[
            ["Happened", <Time at={row.createdAt} />],
            ["Message", messageOf(context, row)],
            ["URL", <Copyable text={endpoint.url} label="the URL" />],
            ["webhook-id", <Copyable text={row.id} label="the webhook-id" />],
            ["Event", <Copyable text={row.eventId} label="the event's id" />],
          ]}
        />
        <Attempts delivery={delivery} />
        <Request row={row} payload={delivery.payload} />
      </>
    ),
  };
}

/** The message that the event is about, as a link if the key may see it; nothing if it is about none. */
export function messageOf({ to, may }: PageContext, row: WebhookDeliveryRow) {
  const id = emailIdOf(row);
  return id === null || !may("email:status") ? id : <a href={to(`/messages/${id}`)}>{id}</a>;
}

/** The command's own rule: a delivery in flight or due is left alone. */
function canRetry({ endpoint, row: { status, dueAt }, now }: Shown): boolean {
  if (endpoint.status === "disabled" || status === "attempting") return false;
  return status !== "pending" || (dueAt !== null && dueAt > now);
}

const SKIPPED: Readonly<Record<string, string>> = {
  endpoint_disabled: "the endpoint was disabled when it was due",
  endpoint_deleted: "the endpoint was deleted",
};

/** Its status in words, and what happens next. */
function standing({ row: { status, dueAt, attempts }, delivery, isFailing, now }: Shown) {
  switch (status) {
    case "delivered":
      return "The endpoint has taken it.";
    case "attempting":
      return "It is being sent now.";
    case "exhausted":
      return `It was given up after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: nothing further is sent unless you ask for it.`;
    case "skipped":
      return `It was not sent: ${SKIPPED[delivery.skipped_reason ?? ""] ?? "the endpoint was not there to take it"}.`;
    default:
      return dueAt === null || dueAt <= now ? (
        isFailing ? (
          "It is due, and waits its turn: while the endpoint fails, it is called only now and then."
        ) : (
          "It is due: the next attempt begins any moment."
        )
      ) : (
        <>
          The next attempt is <Ago at={dueAt} now={now} />.
        </>
      );
  }
}

const Attempts: FC<{ readonly delivery: WholeDelivery }> = ({ delivery: { attempt_log: all } }) => (
  <section class="section" aria-labelledby="attempts">
    <h2 id="attempts">Attempts</h2>
    {all.length === 0 ? <p class="soft">None yet.</p> : null}
    <ol class="attempts">
      {all
        .slice(-ATTEMPTS_SHOWN_MAX)
        .reverse()
        .map((attempt) => (
          <li class="card">
            <AttemptCard attempt={attempt} />
          </li>
        ))}
    </ol>
    {all.length > ATTEMPTS_SHOWN_MAX ? (
      <p class="soft">
        The {ATTEMPTS_SHOWN_MAX} newest of {all.length}; the API has them all.
      </p>
    ) : null}
  </section>
);

const REASONS: Readonly<Record<string, string>> = {
  unreachable:
    "its name has no address that may be called, or nothing there accepts a connection (over TLS for https)",
  tls: "its certificate was not accepted",
  timeout: "there was no answer in time",
  broken_answer: "the connection ended before the answer did",
  status: "it did not answer 2xx",
  redirected: "it answered with a redirect, which is not followed",
  lease_expired: "the service that made the call disappeared",
  store_unavailable: "the log did not confirm the attempt in time, so no call was made",
};

/** Why an attempt failed, as the end of a sentence. */
export function failureText({ reason, status_code: code }: Pick<Attempt, "reason" | "status_code">): string {
  const why = REASONS[reason ?? ""] ?? reason ?? "of something that was not recorded";
  return code === null ? why : `${why} (status ${code})`;
}

const AttemptCard: FC<{ readonly attempt: Attempt }> = ({ attempt }) => {
  const { outcome, reason, status_code: code, duration_ms: durationMs, excerpt } = attempt;
  return (
    <>
      <h3>Attempt {attempt.attempt}</h3>
      <p>
        <Status status={outcome} />
        {code === null ? null : <> with status {code}</>}
        {durationMs === null ? null : <> in {durationMs} ms</>}
      </p>
      {reason === null ? null : <p>It failed because {REASONS[reason] ?? reason}.</p>}
      <p class="soft">
        <Time at={attempt.started_at} /> · webhook-timestamp about{" "}
        {Math.floor(epochMs(attempt.started_at) / 1_000)}
      </p>
      {excerpt === null ? (
        code === null ? null : (
          <p class="soft">Its answer was not kept.</p>
        )
      ) : (
        <pre class="answer">{excerpt}</pre>
      )}
    </>
  );
};

const Request: FC<{ readonly row: WebhookDeliveryRow; readonly payload: WholeDelivery["payload"] }> = ({
  row,
  payload,
}) => (
  <section class="section" aria-labelledby="request">
    <h2 id="request">Request</h2>
    <Facts
      facts={[
        ["content-type", <code>application/json</code>],
        ["webhook-id", <code>{row.id}</code>],
        ["webhook-timestamp", "when the attempt was made, in seconds since 1970"],
        ["webhook-signature", "computed for each attempt with the endpoint's secret, and never stored"],
      ]}
    />
    <pre class="answer">{JSON.stringify(payload, null, 2)}</pre>
    <p class="soft">
      As the log has it now, with line breaks for people; it lacks what was erased meanwhile.
    </p>
  </section>
);
