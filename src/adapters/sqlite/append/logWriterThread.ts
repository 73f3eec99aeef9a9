import type { DatabaseSync } from "node:sqlite";
import { openLogDatabase } from "../openLogDatabase.ts";
import { NOT_WRITTEN, type PreparedAppend, type TransactionOutcome } from "./appendTransaction.ts";
import { DurableTransaction } from "./durableTransaction.ts";
import type { ToThread } from "./logThreadSupervisor.ts";

/** First the log to open, then one batch at a time, which is answered with what became of it. */
export type WriteTask =
  | { readonly path: string; readonly cacheKib: number }
  | { readonly batch: readonly PreparedAppend[] };

declare const self: Worker;

let db: DatabaseSync | null = null;
let transaction: DurableTransaction | null = null;

self.onmessage = ({ data }: MessageEvent<ToThread<WriteTask>>) => {
  if ("path" in data) {
    // Whoever began this thread has just looked whether the file is sound.
    db = openLogDatabase(data.path, { cacheKib: data.cacheKib, evenIfFaulty: true });
    transaction = new DurableTransaction(db, data.path, true);
  } else if ("batch" in data) {
    const outcome = transaction?.run(data.batch) ?? NOT_WRITTEN;
    self.postMessage(outcome satisfies TransactionOutcome);
  } else {
    transaction?.close();
    db?.close();
    process.exit();
  }
};
