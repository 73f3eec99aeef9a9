import type { LogCopy } from "../../adapters/sqlite/follow/logCopy.ts";
import type { EventMark } from "../../adapters/sqlite/follow/logRows.ts";
import type { SourceLog } from "../../adapters/sqlite/follow/sourceLog.ts";
import { INSTANCE_STREAM } from "../../domain/instance/events.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { counted } from "../../kernel/text/readableNumbers.ts";
import { refuse } from "../program/command.ts";

type Log = Pick<LogCopy, "head" | "markAt" | "endsOfStream">;

/** Whether two logs have the same event there; of a truncated one, only its place is known. */
function isSame(one: EventMark | null | undefined, other: EventMark | null | undefined): boolean {
  if (!one || !other) return one === other;
  const isPlaceSame =
    one.position === other.position && one.stream === other.stream && one.revision === other.revision;
  return isPlaceSame && (one.id === other.id || one.id === "" || other.id === "");
}

/** How many events two logs have in common, from the first on. */
function commonEvents(one: Log, other: Log): number {
  let [low, high] = [0, Math.min(one.head(), other.head())];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isSame(one.markAt(middle), other.markAt(middle))) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Refuses to bring a copy up to date that holds what the log lacks: somebody may still need it. A log that was restored
 * from an older copy, or that lost its newest events, records that in the stream of the installation; so a log that has
 * grown past the copy since is noticed too, even if the copy's last event is truncated.
 */
export function requireContinued(source: SourceLog, copy: LogCopy, directory: string): void {
  const head = copy.head();
  const ends = copy.endsOfStream(INSTANCE_STREAM, head);
  const sourceEnds = source.endsOfStream(INSTANCE_STREAM, head);
  const [first] = ends;
  if (first !== undefined && sourceEnds[0] !== undefined && first.id !== sourceEnds[0].id)
    refuse(`${directory} holds a copy of another log: name another directory. Nothing was changed`);
  const isContinued =
    head <= source.head() &&
    isSame(copy.markAt(head), source.markAt(head)) &&
    isSame(ends.at(-1), sourceEnds.at(-1));
  if (isContinued) return;
  const lacking = counted(Math.max(1, head - commonEvents(source, copy)), "event");
  refuse(
    `the copy in ${directory} holds ${lacking} that the log lacks: the log was restored from an older copy, or has lost its newest events. Nothing was changed. Keep that copy: \`${POSTLEDGER} backup restore\` brings it back. To follow the log as it is now, name another directory`,
  );
}
