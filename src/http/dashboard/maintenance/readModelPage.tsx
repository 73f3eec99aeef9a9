/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { counted, grouped } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, epochMs, SECOND_MS } from "../../../kernel/time.ts";
import { AuditTabs } from "../audit/auditTabs.tsx";
import { ActionButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { RowTable } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Ago, lengthOfTime } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { LiveMark } from "../live/liveIndicator.tsx";
import { FollowedPart, OperatorsOnly, TaskProgress, TaskTimes } from "./maintenanceProgress.tsx";
import type { EndedTask, ReadModelState, RunningTask } from "./maintenanceTasks.ts";
import { isOperator } from "./requireOperator.ts";

interface ReadModelPageProps {
  readonly context: PageContext;
  readonly now: EpochMs;
  readonly states: readonly ReadModelState[];
  readonly running: RunningTask | null;
  /** The last verification and the last rebuild that were started here. */
  readonly ended: readonly EndedTask[];
  readonly stream: string;
}

const PATH = "/audit/read-models";

/** The read models: how current they are, and whether they match the log. */
export const ReadModelPage: FC<ReadModelPageProps> = (props) => {
  const { context, now, states, running, ended, stream } = props;
  const mayStart = running === null && isOperator(context);
  return (
    <>
      <Heading title="Read models" beside={<LiveMark stream={stream} />}>
        {mayStart ? (
          <>
            <Start context={context} verb="verify" kind="primary" label="Verify all" />
            <Start context={context} verb="rebuild" label="Rebuild all" />
          </>
        ) : null}
      </Heading>
      <AuditTabs context={context} path={PATH} />
      <FollowedPart pageAt={context.to(PATH)}>
        {running === null ? null : <TaskProgress context={context} task={running} now={now} path={PATH} />}
        {ended.map((task) => (
          <Outcome task={task} now={now} />
        ))}
        <RowTable
          label="Read models"
          rows={states}
          idOf={({ name }) => name}
          columns={[
            { title: "Name", cell: ({ name }) => <code>{name}</code> },
            { title: "Status", cell: (model) => <ModelStatus model={model} now={now} /> },
            { title: "Verification", cell: (model) => <Verified model={model} now={now} /> },
            {
              title: "",
              cell: ({ name }) =>
                mayStart ? (
                  <span class="row-actions">
                    <Start context={context} verb="verify" name={name} label="Verify" />
                    <Start context={context} verb="rebuild" name={name} label="Rebuild" />
                  </span>
                ) : null,
            },
          ]}
        />
        <p class="soft">
          Lists and figures come from read models, which are computed from the log. A verification builds them
          aside and compares row by row; a rebuild makes new ones, which then replace the old. Neither sends
          anything or changes the log, and the service keeps running meanwhile.
        </p>
        {isOperator(context) ? null : <OperatorsOnly />}
      </FollowedPart>
    </>
  );
};

interface StartProps {
  readonly context: PageContext;
  readonly verb: "verify" | "rebuild";
  /** The read model to start on; all of them by default. */
  readonly name?: string;
  readonly kind?: "primary";
  readonly label: string;
}

const Start: FC<StartProps> = ({ context, verb, name, kind, label }) => (
  <ActionButton
    context={context}
    action={`${PATH}/${verb}`}
    verb={label}
    about={name}
    fields={name === undefined ? {} : { name }}
    kind={kind}
  />
);

const ModelStatus: FC<{ readonly model: ReadModelState; readonly now: EpochMs }> = ({ model, now }) => {
  if (model.failure !== null)
    return (
      <>
        <Status status="failed" label="stopped" /> <span class="soft">{model.failure}</span>
      </>
    );
  if (model.state === "absent") return <Status status="pending" label="not built yet" />;
  if (model.isCaughtUp || model.behindSince === null) return <Status status="ok" label="caught up" />;
  const lag = Math.max(SECOND_MS, now - model.behindSince);
  return <Status status="warning" label={`${lengthOfTime(lag)} behind`} />;
};

const Verified: FC<{ readonly model: ReadModelState; readonly now: EpochMs }> = ({
  model: { verified },
  now,
}) => {
  if (verified === null) return <span class="soft">not verified yet</span>;
  const { failure, differences, rows, finishedAt } = verified;
  return (
    <>
      {failure !== null ? (
        <>
          <Status status="failed" label="not verified:" /> {failure}
        </>
      ) : differences > 0 ? (
        <Status status="failed" label={counted(differences, "difference", "differences")} />
      ) : (
        <Status status="ok" label={rows === 1 ? "1 row agrees" : `${grouped(rows)} rows agree`} />
      )}{" "}
      <span class="soft">
        <Ago at={epochMs(finishedAt)} now={now} />
      </span>
    </>
  );
};

/** The result of the last task that was started here. */
const Outcome: FC<{ readonly task: EndedTask; readonly now: EpochMs }> = ({ task, now }) => {
  const { outcome } = task;
  const verb = task.kind === "rebuildReadModels" ? "Rebuild" : "Verification";
  const failed = failuresOf(task);
  return (
    <section class={`standing ${failed.length > 0 ? "bad" : "good"}`} aria-label={verb}>
      <div>
        <h2>
          {verb} of {task.readModels.length === 1 ? task.readModels[0] : "the read models"}
        </h2>
        <p>
          {"failed" in outcome ? outcome.failed : failed.length === 0 ? doneText(task) : failed.join("; ")}{" "}
          <TaskTimes task={task} now={now} />
        </p>
      </div>
    </section>
  );
};

function doneText({ kind, readModels }: EndedTask): string {
  const count = counted(readModels.length, "read model", "read models");
  return kind === "rebuildReadModels"
    ? `${count} rebuilt and in use.`
    : `${count} compared with the log: they agree.`;
}

/** What went wrong: one text for each read model concerned. */
function failuresOf({ outcome }: EndedTask): readonly string[] {
  if ("failed" in outcome) return [outcome.failed];
  if (outcome.kind === "verifyReadModels") {
    return outcome.readModels.flatMap(({ name, differences, failure }) => {
      if (failure !== null) return [`${name}: ${failure}`];
      return differences > 0
        ? [
            `${name}: ${counted(differences, "row differs", "rows differ")}; \`${POSTLEDGER} projection verify ${name}\` shows them, a rebuild repairs them`,
          ]
        : [];
    });
  }
  if (outcome.kind === "rebuildReadModels")
    return outcome.readModels.flatMap(({ name, reason }) => (reason === null ? [] : [`${name}: ${reason}`]));
  return [];
}
