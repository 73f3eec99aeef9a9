/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { type EmailState, emailDecider } from "../../../domain/email/state.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import type { TimelineEntry, TimelineLine } from "./timelineEntries.ts";

const WORKER_NAME_CHARACTERS = 6;

interface TimelineProps {
  readonly entries: readonly TimelineEntry[];
  /** How many of them had happened at the selected time. */
  readonly shown: number;
  /** The address of the message's page. */
  readonly pageAt: string;
  /** The address of this part alone. */
  readonly partAt: string;
}

function stateAfter(entries: readonly TimelineEntry[]): EmailState {
  return entries.reduce<EmailState>(
    (state, { event }) => (event === null ? state : emailDecider.evolve(state, event)),
    emailDecider.initialState,
  );
}

/** A message's timeline, with a slider that shows the message as it was at any time. */
export const Timeline: FC<TimelineProps> = ({ entries, shown, pageAt, partAt }) => {
  const visible = entries.slice(0, shown);
  const state = stateAfter(visible);
  const at = visible.at(-1)?.at;
  return (
    <div id="timeline">
      {entries.length < 2 ? null : (
        <form method="get" action={pageAt} class="as-of">
          <label for="as-of">As of</label>
          <input
            id="as-of"
            type="range"
            name="at"
            min="1"
            max={entries.length}
            value={shown}
            aria-valuetext={at === undefined ? undefined : `${state?.status ?? "not accepted yet"} at ${at}`}
            hx-get={partAt}
            hx-trigger="input changed delay:60ms"
            hx-target="#timeline-shown"
            hx-select="#timeline-shown"
            hx-swap="outerHTML"
          />
          <button type="submit" class="without-script">
            Show
          </button>
        </form>
      )}
      <div id="timeline-shown" aria-live="polite">
        <p class="as-of-state">
          {at === undefined ? null : <Time at={at} />}{" "}
          {state === null ? <span class="soft">not accepted yet</span> : <Status status={state.status} />}
          {shown === entries.length ? <span class="soft">now</span> : null}
        </p>
        <ol class="timeline">
          {visible.map((entry) => (
            <Entry entry={entry} />
          ))}
        </ol>
      </div>
    </div>
  );
};

const Entry: FC<{ readonly entry: TimelineEntry }> = ({ entry: { at, title, lines, said, tone, actor } }) => (
  <li class={tone}>
    <p class="entry-title">
      <strong>{title}</strong> <Time at={at} />
    </p>
    {lines.map((line) => (
      <p class="soft">
        <Line line={line} />
      </p>
    ))}
    {actor === null ? null : <p class="soft">By {actor}.</p>}
    {said === null ? null : <pre class="said">{said}</pre>}
  </li>
);

const Line: FC<{ readonly line: TimelineLine }> = ({ line }) => {
  if (typeof line === "string") return <>{line}</>;
  if ("at" in line)
    return (
      <>
        {line.words} <Time at={line.at} />.
      </>
    );
  return (
    <>
      Worker <span title={line.worker}>{workerName(line.worker)}</span> {line.does}
    </>
  );
};

/** The end of a worker's id, which identifies it: ids of workers that started together share the beginning (UUIDv7). */
function workerName(id: string): string {
  return isUuid(id) ? id.slice(-WORKER_NAME_CHARACTERS) : id;
}
