import type { DatabaseSync } from "node:sqlite";
import {
  AppendTransaction,
  NOT_WRITTEN,
  type PreparedAppend,
  type TransactionOutcome,
} from "./appendTransaction.ts";
import { WriteAheadLog } from "./writeAheadLog.ts";

/** Writes appends to the log on one connection, and waits for the disk on its thread. */
export class DurableTransaction {
  private readonly transaction: AppendTransaction;
  private readonly writeAheadLog: WriteAheadLog;

  /** `isFlushMissing`: as for {@link WriteAheadLog}. */
  constructor(db: DatabaseSync, path: string, isFlushMissing = false) {
    this.transaction = new AppendTransaction(db, "FULL");
    this.writeAheadLog = new WriteAheadLog(path, isFlushMissing);
  }

  /**
   * All of these in one transaction. SQLite flushes nothing for one that has written nothing; what its appends have lost
   * to may be another process's, whose flush is still to come.
   */
  run(batch: readonly PreparedAppend[]): TransactionOutcome {
    if (!this.writeAheadLog.makeUpForFailedFlush()) return NOT_WRITTEN;
    const outcome = this.transaction.run(batch);
    // Of a COMMIT whose flush has failed the next one writes the pages again.
    const isFlushed = outcome.kind === "failed" || outcome.hasWritten || this.writeAheadLog.makeDurable();
    return isFlushed ? outcome : NOT_WRITTEN;
  }

  close(): void {
    this.writeAheadLog.close();
  }
}
