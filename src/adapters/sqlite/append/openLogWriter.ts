import type { DatabaseSync } from "node:sqlite";
import { OUTCOME_UNKNOWN, type TransactionOutcome } from "./appendTransaction.ts";
import { DurableTransaction } from "./durableTransaction.ts";
import { encodeAppendBatch } from "./encodedAppendBatch.ts";
import { FlushedAsideLogWriter } from "./flushedAsideLogWriter.ts";
import type { LogWriter } from "./groupCommit.ts";
import { LogThreadSupervisor } from "./logThreadSupervisor.ts";
import type { WriteTask } from "./logWriterThread.ts";

/** Which thread writes the log: the caller's; the caller's while another one waits for the disk; or its own. */
export type WritingThreads = "caller" | "flushedAside" | "own";

/**
 * On two cores the read models' thread and our callers need the second: docs/performance-notes.md, "Which threads
 * write".
 */
const WRITER_THREAD_CORES_MIN = 3;

/** Which threads write an embedded log in a process that also takes requests, on a machine with this many cores. */
export function writingThreadsFor(cores: number): Exclude<WritingThreads, "caller"> {
  return cores >= WRITER_THREAD_CORES_MIN ? "own" : "flushedAside";
}

/** The open log that the writer gets. */
interface OpenLog {
  readonly db: DatabaseSync;
  readonly path: string;
  /** How many KiB of pages the writer's own connection keeps in memory, if it has one. */
  readonly cacheKib: number;
}

export function openLogWriter(threads: WritingThreads, log: OpenLog): LogWriter {
  if (threads === "caller") return writerOn(log);
  return threads === "own" ? threadedWriter(log) : new FlushedAsideLogWriter(log);
}

/** Writes on the reader's connection: everything else on this thread waits for the disk. */
function writerOn({ db, path }: OpenLog): LogWriter {
  const transaction = new DurableTransaction(db, path);
  return { commit: async (batch) => transaction.run(batch), close: async () => transaction.close() };
}

/** Writes on its own thread with its own connection, so this thread can take requests while the disk works. */
function threadedWriter({ path, cacheKib }: OpenLog): LogWriter {
  const thread = new LogThreadSupervisor<WriteTask, string>({
    url: new URL("./logWriterThread.ts", import.meta.url).href,
    opening: { path, cacheKib },
    lost: JSON.stringify(OUTCOME_UNKNOWN),
  });
  return {
    commit: async (batch) => JSON.parse(await thread.ask(encodeAppendBatch(batch))) as TransactionOutcome,
    close: () => thread.close(),
  };
}
