/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { readLastSeal } from "../../../commands/audit/auditSealer.ts";
import { FINDING_MEANINGS } from "../../../commands/audit/verify/auditFindings.ts";
import type { LogVerification } from "../../../commands/audit/verify/verifyLog.ts";
import { counted, grouped } from "../../../kernel/text/readableNumbers.ts";
import { type EpochMs, epochMs } from "../../../kernel/time.ts";
import { locationOfFault } from "../../../ports/eventStore.ts";
import { ActionButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Facts, RowTable } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Ago, Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { LiveMark } from "../live/liveIndicator.tsx";
import { FollowedPart, OperatorsOnly, TaskProgress, TaskTimes } from "../maintenance/maintenanceProgress.tsx";
import type { EndedTask, RunningTask } from "../maintenance/maintenanceTasks.ts";
import { isOperator } from "../maintenance/requireOperator.ts";
import { AuditTabs } from "./auditTabs.tsx";

interface SealPageProps {
  readonly context: PageContext;
  readonly now: EpochMs;
  /** Null before the first one. */
  readonly seal: Awaited<ReturnType<typeof readLastSeal>>;
  readonly running: RunningTask | null;
  readonly last: EndedTask | null;
  /** The address of the stream that announces a task's progress. */
  readonly stream: string;
}

const PATH = "/audit/seals";

/** The last seal, and whether the log still matches its seals. */
export const SealPage: FC<SealPageProps> = (props) => {
  const { context, now, seal, running, last, stream } = props;
  return (
    <>
      <Heading title="Seals" beside={<LiveMark stream={stream} />}>
        {running === null && isOperator(context) ? (
          <ActionButton context={context} action={`${PATH}/verify`} verb="Verify the log" kind="primary" />
        ) : null}
      </Heading>
      <AuditTabs context={context} path={PATH} />
      <FollowedPart pageAt={context.to(PATH)}>
        {running === null ? null : <TaskProgress context={context} task={running} now={now} path={PATH} />}
        <LastSeal seal={seal} now={now} />
        <section class="section" aria-labelledby="verification">
          <h2 id="verification">Verification</h2>
          {last === null ? (
            <p class="soft">
              The log was not verified here since the service was started. It reads the whole log and compares
              each event with its seal; the service keeps running meanwhile.
            </p>
          ) : (
            <Verification context={context} task={last} now={now} />
          )}
          {isOperator(context) ? null : <OperatorsOnly />}
        </section>
      </FollowedPart>
    </>
  );
};

const LastSeal: FC<Pick<SealPageProps, "seal" | "now">> = ({ seal: sealed, now }) => (
  <section class="section" aria-labelledby="last-seal">
    <h2 id="last-seal">Last seal</h2>
    {sealed === null ? (
      <p class="soft">There is none yet: the service makes one by itself, every ten minutes by default.</p>
    ) : (
      <>
        <Facts
          facts={[
            [
              "Made",
              <>
                <Ago at={epochMs(sealed.seal.at)} now={now} />, <Time at={sealed.seal.at} />
              </>,
            ],
            ["Number", grouped(sealed.end.revision ?? 0)],
            ["Covers", `${counted(sealed.end.covered, "event", "events")} in all`],
            ["Signed", sealed.seal.signature === undefined ? "no: AUDIT_SIGNING_KEY_FILE is not set" : "yes"],
            ["Digest", <Copyable text={sealed.end.leaf ?? ""} label="the digest" />],
          ]}
        />
        <p class="soft">
          Keep the digest where nobody who can write the log can change it: then it can be shown that the log
          up to here was not rewritten.
        </p>
      </>
    )}
  </section>
);

interface VerificationProps {
  readonly context: PageContext;
  readonly task: EndedTask;
  readonly now: EpochMs;
}

const Verification: FC<VerificationProps> = ({ context, task, now }) => {
  const { outcome } = task;
  if ("failed" in outcome)
    return (
      <p>
        <Status status="failed" label="not verified" /> {outcome.failed} <TaskTimes task={task} now={now} />
      </p>
    );
  if (outcome.kind !== "verifyLog") return null;
  const { log } = outcome;
  return (
    <>
      <p>
        {log.findings === 0 ? (
          <>
            <Status status="ok" label="nothing found:" /> what was checked is as it was written
          </>
        ) : (
          <Status status="failed" label={counted(log.findings, "finding", "findings")} />
        )}{" "}
        <TaskTimes task={task} now={now} />
      </p>
      {log.findings === 0 ? null : <Findings context={context} log={log} />}
      <Facts
        facts={[
          ["Checked", `${grouped(log.events)} events in ${counted(log.streams, "stream", "streams")}`],
          ["Sealed", `${grouped(log.compared)} of them, by ${counted(log.chain.seals, "seal", "seals")}`],
          ["Not sealed yet", `${grouped(log.uncovered)} of them`],
          ["Never sealed", `${grouped(log.neverSealed)} of them, such as the seals themselves`],
          ["Erased since", `${counted(log.erased, "event", "events")} that the seals cover as well`],
          ...(log.foreign === 0
            ? []
            : [["Of others", `${grouped(log.foreign)} more, of other applications on the server`] as const]),
          ["Signed", counted(log.chain.signed, "seal", "seals")],
        ]}
      />
    </>
  );
};

const Findings: FC<{ readonly context: PageContext; readonly log: LogVerification }> = ({ context, log }) => (
  <>
    <Facts
      facts={log.kinds.map(({ kind, count }) => [`${count} ${kind}`, FINDING_MEANINGS[kind]] as const)}
    />
    <p>
      To do: stop the service and copy the store's files before anything else touches them. Find out who could
      write them; the seals around a finding bound the time. Go back to an earlier backup, and repair nothing
      by hand.
    </p>
    {/* Streams are of all workspaces. */}
    {isOperator(context) ? (
      <>
        <RowTable
          label="Findings"
          rows={log.shown}
          columns={[
            { title: "Kind", cell: ({ kind }) => kind },
            { title: "Where", cell: (finding) => <code>{locationOfFault(finding)}</code> },
            {
              title: "Why",
              cell: ({ detail, seal }) => `${detail}${seal === null ? "" : ` (seal ${seal})`}`,
            },
          ]}
        />
        {log.findings > log.shown.length ? (
          <p class="soft">And {grouped(log.findings - log.shown.length)} more.</p>
        ) : null}
      </>
    ) : null}
  </>
);
