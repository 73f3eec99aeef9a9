import type { DatabaseSync } from "node:sqlite";
import {
  AppendTransaction,
  NOT_WRITTEN,
  type PreparedAppend,
  type TransactionOutcome,
} from "./appendTransaction.ts";
import { WriteAheadLogFlush } from "./writeAheadLogFlush.ts";

/** Writes appends to the log on one connection, and blocks its thread until they are on disk. */
export class DurableTransaction {
  private readonly transaction: AppendTransaction;
  private readonly writeAheadLog: WriteAheadLogFlush;

  /** `isFlushMissing`: as for {@link WriteAheadLogFlush}. */
  constructor(db: DatabaseSync, path: string, isFlushMissing = false) {
    this.transaction = new AppendTransaction(db, "FULL");
    this.writeAheadLog = new WriteAheadLogFlush(path, isFlushMissing);
  }

  /**
   * Writes all appends in one transaction. If all of them lost, SQLite flushes nothing, but they may have lost to
   * another process whose flush is still to come; so this flushes.
   */
  run(batch: readonly PreparedAppend[]): TransactionOutcome {
    if (!this.writeAheadLog.makeUpForFailedFlush()) return NOT_WRITTEN;
    const outcome = this.transaction.run(batch);
    // After a COMMIT whose flush failed, the next one writes the pages again.
    const isFlushed = outcome.kind === "failed" || outcome.hasWritten || this.writeAheadLog.makeDurable();
    return isFlushed ? outcome : NOT_WRITTEN;
  }

  close(): void {
    this.writeAheadLog.close();
  }
}
