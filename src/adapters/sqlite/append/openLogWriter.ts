import type { DatabaseSync } from "node:sqlite";
import { AppendTransaction, type PreparedAppend, type TransactionOutcome } from "./appendTransaction.ts";
import { DurableTransaction } from "./durableTransaction.ts";
import type { LogWriter } from "./groupCommit.ts";
import type { FlushTask, IsFlushed } from "./logFlushThread.ts";
import { LogThreadOwner } from "./logThreadOwner.ts";
import type { WriteTask } from "./logWriterThread.ts";

/** Which threads write the log: the caller's; the caller's, but another one waits for the disk; one of its own. */
export type WritingThreads = "caller" | "flushedAside" | "own";

const NOT_WRITTEN: TransactionOutcome = { kind: "failed", isUncertain: false };
/** What may be in the log all the same. */
const UNKNOWN: TransactionOutcome = { kind: "failed", isUncertain: true };

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
  return threads === "own" ? threadedWriter(log) : new FlushingWriter(log);
}

/** Writes on the connection of whoever reads: everything else on this thread waits for the disk. */
function writerOn({ db, path }: OpenLog): LogWriter {
  const transaction = new DurableTransaction(db, path);
  return { commit: async (batch) => transaction.run(batch), close: async () => transaction.close() };
}

/** Writes on a thread of its own with its own connection, so that this one takes requests while the disk works. */
function threadedWriter({ path, cacheKib }: OpenLog): LogWriter {
  const url = new URL("./logWriterThread.ts", import.meta.url).href;
  const opening = { path, cacheKib };
  const thread = new LogThreadOwner<WriteTask, TransactionOutcome>({ url, opening, lost: UNKNOWN });
  return {
    commit: (batch) => thread.ask({ batch: batch.map(appendOf) }),
    close: () => thread.close(),
  };
}

/** What a thread can be given. */
function appendOf({ stream, events, expected }: PreparedAppend): PreparedAppend {
  return { stream, events, expected };
}

/**
 * Writes on the connection of whoever reads, but has another thread wait for the disk: a transaction counts as committed
 * when its flush has succeeded. Who reads may see it before; who acts on it appends first, and the flush of that append
 * covers it.
 */
class FlushingWriter implements LogWriter {
  private readonly transaction: AppendTransaction;
  private readonly thread: LogThreadOwner<FlushTask, IsFlushed>;
  /** Something is written that no flush has covered; or nobody knows, as of what a killed process has left. */
  private isFlushMissing = true;

  constructor({ db, path }: OpenLog) {
    this.transaction = new AppendTransaction(db, "NORMAL");
    const url = new URL("./logFlushThread.ts", import.meta.url).href;
    this.thread = new LogThreadOwner({ url, opening: { path }, lost: false });
  }

  async commit(batch: readonly PreparedAppend[]): Promise<TransactionOutcome> {
    if (this.isFlushMissing && !(await this.flush("rewritten"))) return NOT_WRITTEN;
    const outcome = this.transaction.run(batch);
    if (outcome.kind === "failed") return outcome;
    return (await this.flush("written")) ? outcome : UNKNOWN;
  }

  close(): Promise<void> {
    return this.thread.close();
  }

  private async flush(what: "written" | "rewritten"): Promise<boolean> {
    this.isFlushMissing = !(await this.thread.ask({ flush: what }));
    return !this.isFlushMissing;
  }
}
