/** @jsxImportSource hono/jsx */
import { countScheduled, countWaiting, oldestWaiting } from "../../../../projections/emails/mailQueue.ts";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import { scheduledRead } from "../../lists/caughtUpReads.ts";
import { loadEmailRows, type MessageRow } from "../email/loadEmailRows.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext } from "../frame/dashboardRoute.ts";
import { messagesStream } from "../live/liveRoutes.ts";
import { isOperator } from "../maintenance/requireOperator.ts";
import { countsOf, RANGES, type Range } from "./overviewCounts.ts";
import { OverviewPage, type OverviewProps, type Queue, WAITING_MAX } from "./overviewPage.tsx";
import { shownRates } from "./sendingRates.tsx";
import { workspaceChecks } from "./workspaceChecks.ts";

const PROBLEMS_MAX = 6;
const PROBLEM_STATUSES = ["deferred", "bounced", "complained", "failed"] as const;

/** The first page: the service's health and the outcomes of messages. */
export function overviewRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [get("/", null, (context) => showOverview(options, context))];
}

async function showOverview(options: DashboardOptions, context: PageContext): Promise<Page> {
  const { readiness, upkeep, deps } = options;
  const range = RANGES.find((name) => name === context.query.get("range")) ?? "day";
  const now = deps.clock.now();
  const [checks, own, looked, messages] = await Promise.all([
    readiness(),
    workspaceChecks(options, context, now),
    context.may("workspace:manage") ? upkeep(context.workspaceId, isOperator(context)) : [],
    context.may("email:status") ? messagesOf(options, context, range, now) : null,
  ]);
  return {
    title: "Overview",
    isWide: true,
    assets: messages === null ? [] : ["uPlot.css", "uPlot.js", "plots.js"],
    body: (
      <OverviewPage
        context={context}
        now={now}
        range={range}
        checks={checks}
        relays={isOperator(context) ? options.relays() : []}
        upkeep={[...own, ...looked]}
        messages={messages}
      />
    ),
  };
}

async function messagesOf(
  options: DashboardOptions,
  context: PageContext,
  range: Range,
  now: number,
): Promise<OverviewProps["messages"]> {
  const ownerId = mailOwnerId(context.principal);
  const stream = await messagesStream(options, context);
  const [counts, queue, problems, rates] = await Promise.all([
    countsOf(options.readModel("emails"), ownerId, range, now),
    queueOf(options, ownerId, now),
    lastProblems(options, context, ownerId),
    context.mail === "live" ? shownRates(options, context.workspaceId, now) : [],
  ]);
  return { counts, queue, problems, rates, stream };
}

function queueOf({ readModel }: DashboardOptions, ownerId: string, now: EpochMs): Promise<Queue> {
  return scheduledRead(readModel("emails"), (db) => ({
    waiting: countWaiting(db, ownerId, now, WAITING_MAX + 1),
    scheduled: countScheduled(db, ownerId, now, WAITING_MAX + 1),
    oldest: oldestWaiting(db, ownerId, now),
  }));
}

/** The newest messages with a problem, by the time at which they came to it. */
async function lastProblems(
  options: DashboardOptions,
  { principal }: PageContext,
  ownerId: string,
): Promise<readonly MessageRow[]> {
  const found = await Promise.all(
    PROBLEM_STATUSES.map((status) =>
      loadEmailRows(options, principal, { ownerId, statuses: [status], limit: PROBLEMS_MAX }),
    ),
  );
  return found
    .flatMap(({ shown }) => shown)
    .sort((one, other) => (one.statusSince < other.statusSince ? 1 : -1))
    .slice(0, PROBLEMS_MAX);
}
