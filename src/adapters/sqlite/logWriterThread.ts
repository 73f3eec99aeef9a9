import type { DatabaseSync } from "node:sqlite";
import { AppendTransaction, type PreparedAppend, type TransactionOutcome } from "./appendTransaction.ts";
import { openLogDatabase } from "./openLogDatabase.ts";

/** First the log to open, then one batch at a time, last the end. */
export type ToLogWriter =
  | { readonly path: string; readonly cacheKib: number }
  | { readonly batch: readonly PreparedAppend[] }
  | { readonly close: true };

/** What became of a batch. */
export type FromLogWriter = TransactionOutcome;

declare const self: Worker;

let db: DatabaseSync | null = null;
let transaction: AppendTransaction | null = null;

self.onmessage = ({ data }: MessageEvent<ToLogWriter>) => {
  if ("path" in data) {
    // Whoever began this thread has just looked whether the file is sound.
    db = openLogDatabase(data.path, { cacheKib: data.cacheKib, evenIfFaulty: true });
    transaction = new AppendTransaction(db);
  } else if ("batch" in data) {
    const outcome = transaction?.run(data.batch) ?? { kind: "failed" as const, isUncertain: false };
    self.postMessage(outcome satisfies FromLogWriter);
  } else {
    db?.close();
    process.exit();
  }
};
