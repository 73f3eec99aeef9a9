/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { capitalized } from "../../../kernel/text/capitalized.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import type { Checks } from "../../health/healthController.ts";
import { Heading } from "../components/heading.tsx";
import { Empty, type Fact, Facts, scrolledCounts } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Ago, lengthOfTime, Time } from "../components/time.tsx";
import { listAddress } from "../email/emailListPage.tsx";
import type { MessageRow } from "../email/loadEmailRows.ts";
import { COMPLAINED, reasonText } from "../email/reasonText.ts";
import type { MaintenanceCheck, RelayState } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { LiveMark, ON_CHANGE, reloadedFrom } from "../live/liveIndicator.tsx";
import {
  type Bucket,
  COUNTED,
  type Counted,
  type Counts,
  MESSAGES_OF_HOUR_MAX,
  RANGES,
  type Range,
} from "./overviewCounts.ts";
import { SendingRates, type ShownRate } from "./sendingRates.tsx";

/** Counting of waiting messages stops here; more are shown as this many or more. */
export const WAITING_MAX = 1_000;

/** The messages waiting for delivery. */
export interface Queue {
  /** Messages that are due; more than {@link WAITING_MAX} are not counted. */
  readonly waiting: number;
  /** Messages scheduled for later, likewise. */
  readonly scheduled: number;
  /** The message that has waited longest; null when none waits. */
  readonly oldest: { readonly id: string; readonly since: number } | null;
}

export interface OverviewProps {
  readonly context: PageContext;
  readonly now: number;
  readonly range: Range;
  readonly checks: Checks;
  /** Each of several relays, or a single one in trouble, for the operator. */
  readonly relays: readonly RelayState[];
  /** What the key may see of the workspace's checks and of the service's maintenance. */
  readonly upkeep: readonly MaintenanceCheck[];
  /** Null if the key may not read messages. */
  readonly messages: {
    readonly counts: Counts;
    readonly queue: Queue;
    readonly problems: readonly MessageRow[];
    /** None of test mail. */
    readonly rates: readonly ShownRate[];
    /** The address of the stream that says what is new. */
    readonly stream: string;
  } | null;
}

const RANGE_TITLES: Readonly<Record<Range, string>> = {
  hour: "Last hour",
  day: "Last 24 hours",
  month: "Last 30 days",
};

/** The service's health, and the outcomes of the workspace's messages. */
export const OverviewPage: FC<OverviewProps> = (props) => {
  const { context, messages, range } = props;
  return (
    <>
      <Heading title="Overview" beside={messages === null ? null : <LiveMark stream={messages.stream} />}>
        {messages === null ? null : <Ranges context={context} range={range} />}
      </Heading>
      <div
        id="overview"
        hx-select="#overview"
        {...reloadedFrom(`${context.to("/")}?range=${range}`, messages === null ? "every 30s" : ON_CHANGE)}
      >
        {messages === null ? (
          <p class="soft">This key may not read messages, so only the service's health is shown.</p>
        ) : context.readModelBuild !== null ? (
          <Empty title="The figures are being counted">
            <p>The log is read from its beginning: the latest events are counted last.</p>
          </Empty>
        ) : (
          <Messages {...props} messages={messages} />
        )}
        <div class="columns">
          <Health {...props} />
          {messages === null ? null : (
            <div>
              <SendingRates context={context} rates={messages.rates} />
              <Problems context={context} problems={messages.problems} now={props.now} />
            </div>
          )}
        </div>
      </div>
    </>
  );
};

const Ranges: FC<{ readonly context: PageContext; readonly range: Range }> = ({ context, range }) => (
  <nav class="widths" aria-label="Range of time">
    {RANGES.map((name) => (
      <a href={`${context.to("/")}?range=${name}`} aria-current={name === range ? "true" : undefined}>
        {RANGE_TITLES[name]}
      </a>
    ))}
  </nav>
);

/** What finds the messages of a figure, if not its status alone. */
const SEARCHED: Readonly<Partial<Record<Counted, string>>> = {
  accepted: "",
  sent: "status:sent,delivered,complained ",
};

function sumOf(buckets: readonly Bucket[], name: Counted): number {
  return buckets.reduce((sum, bucket) => sum + bucket[name], 0);
}

const Messages: FC<OverviewProps & { readonly messages: NonNullable<OverviewProps["messages"]> }> = ({
  context,
  range,
  now,
  messages: { counts, queue },
}) => {
  const { buckets, isCut } = counts;
  const since = buckets[0]?.start ?? "";
  return (
    <>
      <ul class="figures">
        {COUNTED.map((name) => (
          <li>
            <a href={listAddress(context, `${SEARCHED[name] ?? `status:${name} `}after:${since}`)}>
              <Status status={name} />
              <strong>{grouped(sumOf(buckets, name))}</strong>
              <span class="soft">{shareOf(buckets, name)}</span>
            </a>
          </li>
        ))}
        <li>
          <QueueFigure context={context} queue={queue} now={now} />
        </li>
      </ul>
      {isCut ? (
        <p class="soft">
          There were more in the last hour than are counted here: these are the newest{" "}
          {grouped(MESSAGES_OF_HOUR_MAX)}.
        </p>
      ) : null}
      <Plot range={range} buckets={buckets} />
    </>
  );
};

/** The share of accepted messages. Without any report of a delivery the share says nothing. */
function shareOf(buckets: readonly Bucket[], name: Counted): string {
  const accepted = sumOf(buckets, "accepted");
  if (name === "accepted" || accepted === 0) return "";
  if (name === "delivered" && sumOf(buckets, name) === 0) return "none reported";
  return `${((sumOf(buckets, name) / accepted) * 100).toFixed(1)}%`;
}

const QueueFigure: FC<{ readonly context: PageContext; readonly queue: Queue; readonly now: number }> = ({
  context,
  queue: { waiting, scheduled, oldest },
  now,
}) => {
  const figure = (
    <>
      <Status status="waiting" tone={oldest === null ? "quiet" : "waiting"} label="waiting" />
      <strong>{countText(waiting)}</strong>
      <span class="soft">
        {oldest === null ? null : (
          <>
            oldest <Ago at={oldest.since} now={now} />
          </>
        )}
        {oldest === null || scheduled === 0 ? "" : ", and "}
        {scheduled === 0
          ? ""
          : `${countText(scheduled)}${oldest === null ? "" : " more"} scheduled for later`}
      </span>
    </>
  );
  if (oldest !== null) return <a href={context.to(`/messages/${oldest.id}`)}>{figure}</a>;
  return scheduled === 0 ? (
    <div>{figure}</div>
  ) : (
    <a href={listAddress(context, "status:scheduled")}>{figure}</a>
  );
};

function countText(count: number): string {
  return count > WAITING_MAX ? `${grouped(WAITING_MAX)}+` : grouped(count);
}

/** The curves, and a table with the same figures: for people who cannot see them or want the numbers. */
const Plot: FC<{ readonly range: Range; readonly buckets: readonly Bucket[] }> = ({ range, buckets }) => (
  <figure class="plot" data-plot={range}>
    <div class="plot-space" aria-hidden="true" hx-morph-skip />
    <details>
      <summary>{RANGE_TITLES[range]} as a table</summary>
      <div {...scrolledCounts(`Messages, ${RANGE_TITLES[range].toLowerCase()}`)}>
        <table>
          <caption class="unseen">Messages, {RANGE_TITLES[range].toLowerCase()}</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              {COUNTED.map((name) => (
                <th scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {buckets.map((bucket) => (
              <tr>
                <th scope="row">
                  <Time at={bucket.start} />
                </th>
                {COUNTED.map((name) => (
                  <td class="number" data-count={bucket[name]}>
                    {grouped(bucket[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  </figure>
);

const CHECK_NAMES: Readonly<Record<string, string>> = {
  store: "Store",
  read_models: "Read models",
  disk: "Disk",
  relay: "Relay",
  content: "Content store",
  delivery: "Delivery",
  seal: "Log",
};

const UPKEEP_PAGES: Readonly<Record<string, string>> = {
  "API keys": "/api-keys",
  limits: "/workspace",
  "last seal": "/audit/seals",
  "verification of the read models": "/audit/read-models",
};

const Health: FC<OverviewProps> = ({ context, now, checks, relays, upkeep }) => (
  <section class="section" aria-labelledby="health">
    <h2 id="health">Service</h2>
    <Facts
      facts={[
        ...Object.entries(checks).map(([name, { ok, detail }]): Fact => {
          const isBuilding = name === "read_models" && context.readModelBuild !== null;
          const value = isBuilding ? (
            <Status status="pending" label="being built" />
          ) : (
            <>
              <Status status={ok ? "ok" : "failed"} /> <span class="soft">{detail}</span>
            </>
          );
          return [CHECK_NAMES[name] ?? name, value];
        }),
        ...relays.map((relay) => [relay.name, <RelayFact relay={relay} now={now} />] as const),
        ...upkeep.map(({ name, status, detail, action }) => {
          const value: Child = (
            <>
              <Status status={status} /> <span class="soft">{withTimes(detail)}</span>
              {action === null ? null : <p>To do: {withCode(action)}</p>}
              {UPKEEP_PAGES[name] === undefined ? null : (
                <>
                  {" "}
                  <a href={context.to(UPKEEP_PAGES[name])} aria-label={`More about the ${name}`}>
                    More
                  </a>
                </>
              )}
            </>
          );
          return [capitalized(name), value] as const;
        }),
      ]}
    />
  </section>
);

/** Text between backticks is shown as code. */
function withCode(text: string): Child {
  return text.split("`").map((part, nth) => (nth % 2 === 0 ? part : <code>{part}</code>));
}

const RelayFact: FC<{ readonly relay: RelayState; readonly now: number }> = ({ relay: { trouble }, now }) =>
  trouble === null ? (
    <Status status="ok" label="taking mail" />
  ) : (
    <>
      <Status status="paused" label="in trouble" />{" "}
      <span class="soft">
        for {lengthOfTime(now - trouble.since)}: {trouble.reason}
      </span>
    </>
  );

/** A sentence for operators, its times formatted like the page's others. */
function withTimes(detail: string): readonly Child[] {
  const parts = detail.split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/);
  return parts.map((part, index) => (index % 2 === 1 ? <Time at={part} /> : part));
}

function problemText(status: string, reason: string | null): string {
  if (status === "complained") return COMPLAINED;
  return reason === null ? "" : reasonText(reason);
}

const Problems: FC<{
  readonly context: PageContext;
  readonly problems: readonly MessageRow[];
  readonly now: number;
}> = ({ context, problems, now }) => (
  <section class="section" aria-labelledby="problems">
    <h2 id="problems">Last problems</h2>
    {problems.length === 0 ? (
      <p class="soft">No message has bounced, failed, been complained about or deferred.</p>
    ) : (
      <ul class="problems">
        {problems.map(({ id, status, to, reason, statusSince }) => (
          <li>
            <a href={context.to(`/messages/${id}`)}>
              <span class="mail-top">
                <Status status={status} />
                <span class="soft">
                  <Ago at={Date.parse(statusSince)} now={now} />
                </span>
              </span>
              <span class="clip">{to ?? "erased"}</span>
              <span class="soft">{problemText(status, reason)}</span>
            </a>
          </li>
        ))}
      </ul>
    )}
  </section>
);
