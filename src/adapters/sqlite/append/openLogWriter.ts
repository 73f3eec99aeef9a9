import type { DatabaseSync } from "node:sqlite";
import { OUTCOME_UNKNOWN, type TransactionOutcome } from "./appendTransaction.ts";
import { batchMessage } from "./batchMessage.ts";
import { DurableTransaction } from "./durableTransaction.ts";
import { FlushThreadWriter } from "./flushThreadWriter.ts";
import type { LogWriter } from "./groupCommit.ts";
import { LogThreadSupervisor } from "./logThreadSupervisor.ts";
import type { WriteTask } from "./logWriterThread.ts";

/** Which threads write the log: the caller's; the caller's, but another one waits for the disk; one of its own. */
export type WritingThreads = "caller" | "flushedAside" | "own";

/** The read models' thread and whoever calls us take the second core: docs/performance.md, "Which threads write". */
const WRITER_THREAD_CORES_MIN = 3;

/** Which threads write an embedded log for a process that takes requests meanwhile, on a machine with so many cores. */
export function writingThreadsFor(cores: number): Exclude<WritingThreads, "caller"> {
  return cores >= WRITER_THREAD_CORES_MIN ? "own" : "flushedAside";
}

/** The log as its writer finds it. */
interface OpenLog {
  /** The connection of whoever reads. */
  readonly db: DatabaseSync;
  readonly path: string;
  /** Bounds the pages that a connection of the writer's own keeps in memory, in KiB. */
  readonly cacheKib: number;
}

/** Opens the writer of an open log. */
export function openLogWriter(threads: WritingThreads, log: OpenLog): LogWriter {
  if (threads === "caller") return writerOn(log);
  return threads === "own" ? threadedWriter(log) : new FlushThreadWriter(log);
}

/** Writes on the connection of whoever reads: everything else on this thread waits for the disk. */
function writerOn({ db, path }: OpenLog): LogWriter {
  const transaction = new DurableTransaction(db, path);
  return { commit: async (batch) => transaction.run(batch), close: async () => transaction.close() };
}

/** Writes on a thread of its own with its own connection, so that this one takes requests while the disk works. */
function threadedWriter({ path, cacheKib }: OpenLog): LogWriter {
  const thread = new LogThreadSupervisor<WriteTask, string>({
    url: new URL("./logWriterThread.ts", import.meta.url).href,
    opening: { path, cacheKib },
    lost: JSON.stringify(OUTCOME_UNKNOWN),
  });
  return {
    commit: async (batch) => JSON.parse(await thread.ask(batchMessage(batch))) as TransactionOutcome,
    close: () => thread.close(),
  };
}
