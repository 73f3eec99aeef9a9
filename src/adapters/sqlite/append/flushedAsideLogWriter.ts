import type { DatabaseSync } from "node:sqlite";
import {
  AppendTransaction,
  NOT_WRITTEN,
  OUTCOME_UNKNOWN,
  type PreparedAppend,
  type TransactionOutcome,
} from "./appendTransaction.ts";
import type { LogWriter } from "./groupCommit.ts";
import type { FlushTask, IsFlushed } from "./logFlushThread.ts";
import { LogThreadSupervisor } from "./logThreadSupervisor.ts";

/**
 * Writes on the reader's connection, but lets another thread wait for the disk: a transaction counts as committed when
 * its flush has succeeded. Readers may see it earlier, but a caller that acts on it appends first, and the flush of
 * that append covers it.
 */
export class FlushedAsideLogWriter implements LogWriter {
  private readonly transaction: AppendTransaction;
  private readonly thread: LogThreadSupervisor<FlushTask, IsFlushed>;
  /** Whether something written may not be flushed, for example by a killed process before us. */
  private isFlushMissing = true;

  constructor({ db, path }: { readonly db: DatabaseSync; readonly path: string }) {
    this.transaction = new AppendTransaction(db, "NORMAL");
    const url = new URL("./logFlushThread.ts", import.meta.url).href;
    this.thread = new LogThreadSupervisor({ url, opening: { path }, lost: false });
  }

  async commit(batch: readonly PreparedAppend[]): Promise<TransactionOutcome> {
    if (this.isFlushMissing && !(await this.flush("rewritten"))) return NOT_WRITTEN;
    const outcome = this.transaction.run(batch);
    if (outcome.kind === "failed") return outcome;
    return (await this.flush("written")) ? outcome : OUTCOME_UNKNOWN;
  }

  close(): Promise<void> {
    return this.thread.close();
  }

  private async flush(what: "written" | "rewritten"): Promise<boolean> {
    this.isFlushMissing = !(await this.thread.ask({ flush: what }));
    return !this.isFlushMissing;
  }
}
