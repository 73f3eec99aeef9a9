import type { DatabaseSync } from "node:sqlite";
import { openLogDatabase } from "../openLogDatabase.ts";
import { NOT_WRITTEN, type TransactionOutcome } from "./appendTransaction.ts";
import { DurableTransaction } from "./durableTransaction.ts";
import { decodeAppendBatch, type EncodedAppendBatch } from "./encodedAppendBatch.ts";
import type { ToThread } from "./logThreadSupervisor.ts";

/** First the log to open, then one batch at a time. The thread answers each batch with its outcome. */
export type WriteTask = { readonly path: string; readonly cacheKib: number } | EncodedAppendBatch;

declare const self: Worker;

let db: DatabaseSync | null = null;
let transaction: DurableTransaction | null = null;

self.onmessage = ({ data }: MessageEvent<ToThread<WriteTask>>) => {
  if ("path" in data) {
    // The code that started this thread has just checked the file.
    db = openLogDatabase(data.path, { cacheKib: data.cacheKib, evenIfFaulty: true });
    transaction = new DurableTransaction(db, data.path, true);
  } else if ("close" in data) {
    transaction?.close();
    db?.close();
    process.exit();
  } else {
    const outcome = transaction?.run(decodeAppendBatch(data)) ?? NOT_WRITTEN;
    self.postMessage(JSON.stringify(outcome satisfies TransactionOutcome));
  }
};
