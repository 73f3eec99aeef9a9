import { sleep } from "../../../kernel/concurrency/sleep.ts";
import { messageOf } from "../../../kernel/text/errorReason.ts";
import {
  type AppendResult,
  type ExpectedRevision,
  type NewEvent,
  StoreError,
} from "../../../ports/eventStore.ts";
import { AppendFailedError, failureKindOf, moreInformative, unavailable } from "../clientErrors.ts";
import type { Connection } from "../connection.ts";
import { backoffMs, type Deadline, leftMs } from "../deadline.ts";
import { positionText } from "../positions.ts";
import { readLogHead } from "../read/readLogHead.ts";
import { readMetadata, readNewest, truncatedBefore } from "../read/streamReads.ts";
import { type AppendAnswer, encodeAppend } from "./batchAppendFormat.ts";
import type { ConflictsNotYetVisible } from "./conflictsNotYetVisible.ts";

/** The server gives up a write after 2 s; a longer silence means that its answer is lost. */
const ATTEMPT_MS_MAX = 2_500;
/** No stream ever has this revision, so an append that expects it writes nothing and fails with the real one. */
const IMPOSSIBLE_REVISION = Number.MAX_SAFE_INTEGER;

export interface Append {
  readonly stream: string;
  readonly events: readonly NewEvent[];
  readonly expected: ExpectedRevision;
}

/** The outcome of an attempt that settled the append. */
export type Answer = Exclude<AppendAnswer, { outcome: "failed" }>;

/**
 * Appends, and repeats the same append (same ids, same expectation) until there is a definite answer: for a repeat the
 * server returns the first result. A loser can immediately read what it lost to, unless that is noted in `conflicts`.
 * Throws {@link StoreError}.
 */
export async function append(
  connection: Connection,
  request: Append,
  deadline: Deadline,
  conflicts?: ConflictsNotYetVisible,
): Promise<AppendResult> {
  const answer = await settle(connection, request, deadline);
  if (answer.outcome === "lost" && answer.actual !== null) {
    const { stream } = request;
    if (!conflicts?.add(stream, answer.actual))
      await untilReadable(connection, stream, answer.actual, deadline);
  }
  return appendedOf(connection, answer, deadline);
}

/** The port's result for the server's answer. */
export async function appendedOf(
  connection: Connection,
  answer: Answer,
  deadline: Deadline,
): Promise<AppendResult> {
  if (answer.outcome === "lost") return { outcome: "wrongExpectedRevision", actual: answer.actual };
  const { revision, position } = answer;
  return {
    outcome: "appended",
    revision,
    // The server no longer knows the position of a repeated append whose events have been truncated.
    position: position ? positionText(position) : await readLogHead(connection.reads, deadline),
  };
}

/**
 * The last revision of a stream whose events are all truncated. No read shows it, so we send an append that cannot
 * succeed and take it from the answer. Throws `unavailable`.
 */
export async function probeRevision(
  connection: Connection,
  stream: string,
  deadline: Deadline,
): Promise<number | null> {
  const event = { id: crypto.randomUUID(), type: "RevisionProbed", data: {}, metadata: {} };
  const probe: Append = { stream, events: [event], expected: IMPOSSIBLE_REVISION };
  const answer = await settle(connection, probe, deadline).catch((error: unknown) => {
    // Nothing can have been written, however the attempts ended.
    throw new StoreError("unavailable", messageOf(error), { cause: error });
  });
  if (answer.outcome === "written") throw new Error(`${stream} has an impossible revision`);
  return answer.actual;
}

async function settle({ batches }: Connection, request: Append, deadline: Deadline): Promise<Answer> {
  const { stream, events, expected } = request;
  const encoded = encodeAppend(stream, events, expected);
  let mayBeWritten = false;
  let failure: unknown = null;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const timeMs = Math.min(ATTEMPT_MS_MAX, leftMs(deadline));
      return definite(await batches.attempt(encoded, timeMs));
    } catch (error) {
      const kind = failureKindOf(error);
      if (kind === "tooLarge") throw new StoreError("tooLarge", messageOf(error), { cause: error });
      mayBeWritten ||= kind === "unknown";
      failure = moreInformative(failure, error);
      const waitMs = backoffMs(attempt);
      if (kind === "refused" || leftMs(deadline) <= waitMs) throw givenUp(request, mayBeWritten, failure);
      await sleep(waitMs);
    }
  }
}

/** Throws {@link AppendFailedError} for an answer that settles nothing. */
export function definite(answer: AppendAnswer): Answer {
  if (answer.outcome === "failed") throw new AppendFailedError(answer.kind, answer.message);
  return answer;
}

function givenUp({ stream }: Append, mayBeWritten: boolean, error: unknown): StoreError {
  if (!mayBeWritten) return unavailable(`cannot append to ${stream}`, error);
  const message = `EventStoreDB: an append to ${stream} may or may not be written: ${messageOf(error)}`;
  return new StoreError("outcomeUnknown", message, { cause: error });
}

/** Waits until a read sees that revision, or can never see it because it is truncated. Throws `unavailable`. */
export async function untilReadable(
  { reads }: Connection,
  stream: string,
  revision: number,
  deadline: Deadline,
): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const newest = await readNewest(reads, stream, deadline);
    if (newest === "allTruncated") {
      const { values } = await readMetadata(reads, stream, deadline);
      if (truncatedBefore(values) > revision) return;
    } else if (newest !== null && newest.revision >= revision) {
      return;
    }
    const waitMs = backoffMs(attempt);
    if (leftMs(deadline) <= waitMs) {
      throw new StoreError("unavailable", `EventStoreDB: ${stream} cannot be read up to ${revision} yet`);
    }
    await sleep(waitMs);
  }
}
