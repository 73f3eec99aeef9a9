/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, SECOND_MS } from "../../../kernel/time.ts";
import { ActionButton } from "../components/button.tsx";
import { Ago, lengthOfTime } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { reloadedFrom } from "../live/liveIndicator.tsx";
import type { EndedTask, Maintenance, MaintenanceKind, RunningTask } from "./maintenanceTasks.ts";
import { isOperator } from "./requireOperator.ts";

/** The address of the stream that announces a task's progress. */
export function maintenanceStream(context: PageContext, maintenance: Maintenance): string {
  return `${context.to("/live/maintenance")}?shown=${maintenance.version()}`;
}

/** The part of a page that follows the running task. `pageAt` is the page's address. */
export const FollowedPart: FC<{ readonly pageAt: string; readonly children: Child }> = ({
  pageAt,
  children,
}) => (
  <div id="maintenance" class="parts" hx-select="#maintenance" {...reloadedFrom(pageAt)}>
    {children}
  </div>
);

const UNDER_WAY: Readonly<Record<MaintenanceKind, string>> = {
  verifyLog: "The log is being verified",
  verifyReadModels: "Read models are being verified",
  rebuildReadModels: "Read models are being rebuilt",
};

interface ProgressProps {
  readonly context: PageContext;
  readonly task: RunningTask;
  readonly now: EpochMs;
  /** The path of the page that Give up returns to. */
  readonly path: string;
}

/** The progress of the running task, and the button that cancels it. */
export const TaskProgress: FC<ProgressProps> = ({ context, task, now, path }) => {
  const percent = Math.min(100, Math.floor(task.done * 100));
  const names = task.readModels.length === 1 ? `: ${task.readModels[0]}` : "";
  return (
    <section class="standing waiting" aria-label="Under way">
      <div class="task">
        <h2>
          {UNDER_WAY[task.kind]}
          {names}
        </h2>
        <p>
          <progress max={100} value={percent} aria-label={UNDER_WAY[task.kind]}>
            {percent}%
          </progress>{" "}
          {percent}%
        </p>
        <p class="soft">
          {grouped(task.events)} events read, {grouped(task.eventsPerSecond)} a second, for{" "}
          {lengthOfTime(Math.max(SECOND_MS, now - task.startedAt))}. It continues when you leave this page.
        </p>
      </div>
      {isOperator(context) ? (
        <ActionButton context={context} action="/audit/give-up" verb="Give up" fields={{ path }} />
      ) : null}
    </section>
  );
};

export const TaskTimes: FC<{ readonly task: EndedTask; readonly now: EpochMs }> = ({
  task: { startedAt, endedAt },
  now,
}) => (
  <span class="soft">
    <Ago at={endedAt} now={now} />, in {lengthOfTime(Math.max(SECOND_MS, endedAt - startedAt))}
  </span>
);

/** Says why an action that only the operator may start has no button. */
export const OperatorsOnly: FC = () => (
  <p class="soft">
    The operator of the service can start it here, logged in with a link that{" "}
    <code>{POSTLEDGER} dashboard link</code> makes.
  </p>
);
