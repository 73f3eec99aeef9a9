import type { DatabaseSync } from "node:sqlite";
import { AppendTransaction, type PreparedAppend, type TransactionOutcome } from "./appendTransaction.ts";
import { WriteAheadLog } from "./writeAheadLog.ts";

/** Writes appends to the log on one connection, and waits for the disk on its thread. */
export class DurableTransaction {
  private readonly transaction: AppendTransaction;
  private readonly writeAheadLog: WriteAheadLog;

  constructor(db: DatabaseSync, path: string) {
    this.transaction = new AppendTransaction(db, "FULL");
    this.writeAheadLog = new WriteAheadLog(path);
  }

  /**
   * All of these in one transaction. SQLite flushes nothing for one that has written nothing; what its appends have lost
   * to may be another process's, whose flush is still to come.
   */
  run(batch: readonly PreparedAppend[]): TransactionOutcome {
    const outcome = this.transaction.run(batch);
    const isFlushed = outcome.kind === "failed" || outcome.hasWritten || this.writeAheadLog.makeDurable();
    return isFlushed ? outcome : { kind: "failed", isUncertain: false };
  }

  close(): void {
    this.writeAheadLog.close();
  }
}
