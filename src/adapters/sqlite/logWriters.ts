import type { DatabaseSync } from "node:sqlite";
import { AppendTransaction, type PreparedAppend, type TransactionOutcome } from "./appendTransaction.ts";
import type { LogWriter } from "./groupCommit.ts";
import type { FromLogWriter, ToLogWriter } from "./logWriterThread.ts";

/** How long after a thread was lost the next one begins. */
const RESTART_MS = 100;
/** How long a thread may take to close its connection before it is ended. */
const CLOSE_MS_MAX = 5_000;

/** A thread that has ended by itself may have written what it was given last. */
const LOST: TransactionOutcome = { kind: "failed", isUncertain: true };

/** Writes on the connection of whoever reads: everything else on this thread waits for the disk. */
export function writerOn(db: DatabaseSync): LogWriter {
  const transaction = new AppendTransaction(db);
  return { commit: async (batch) => transaction.run(batch), close: async () => {} };
}

/** Writes on a thread of its own with its own connection, so that this one takes requests while the disk works. */
export function threadedWriter(path: string, cacheKib: number): LogWriter {
  return new ThreadedWriter({ path, cacheKib });
}

class ThreadedWriter implements LogWriter {
  private thread: Worker;
  /** When the thread was lost, on the monotonic clock in ms; null while it runs. */
  private lostAt: number | null = null;
  private settle: (outcome: TransactionOutcome) => void = () => {};
  private closing = false;

  constructor(private readonly log: { readonly path: string; readonly cacheKib: number }) {
    this.thread = this.begin();
  }

  async commit(batch: readonly PreparedAppend[]): Promise<TransactionOutcome> {
    if (this.lostAt !== null) await this.restart(this.lostAt);
    const { promise, resolve } = Promise.withResolvers<TransactionOutcome>();
    this.settle = resolve;
    this.thread.postMessage({ batch: batch.map(appendOf) } satisfies ToLogWriter);
    return promise;
  }

  async close(): Promise<void> {
    this.closing = true;
    if (this.lostAt !== null) return;
    const ended = new Promise((resolve) => this.thread.addEventListener("close", resolve));
    this.thread.postMessage({ close: true } satisfies ToLogWriter);
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, CLOSE_MS_MAX);
    await Promise.race([ended, late.promise]);
    clearTimeout(timer);
    this.thread.terminate();
  }

  private begin(): Worker {
    const thread = new Worker(new URL("./logWriterThread.ts", import.meta.url).href);
    thread.onmessage = ({ data }: MessageEvent<FromLogWriter>) => this.settle(data);
    thread.onerror = () => thread.terminate();
    thread.addEventListener("close", () => {
      if (this.closing) return;
      this.lostAt = performance.now();
      this.settle(LOST);
    });
    thread.postMessage(this.log satisfies ToLogWriter);
    return thread;
  }

  private async restart(lostAt: number): Promise<void> {
    await Bun.sleep(Math.max(0, lostAt + RESTART_MS - performance.now()));
    this.lostAt = null;
    this.thread = this.begin();
  }
}

/** What a thread can be given. */
function appendOf({ stream, events, expected }: PreparedAppend): PreparedAppend {
  return { stream, events, expected };
}
