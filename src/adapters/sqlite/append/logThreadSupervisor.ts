import { settleWithin } from "../../../kernel/concurrency/sleep.ts";

/** How long after a thread was lost to start the next one. */
const RESTART_MS = 100;
/** How long a thread may take to close its files before it is terminated. */
const CLOSE_MS_MAX = 5_000;

/** A message to a thread: a task of its own protocol or, as the last one, `close`. */
export type ToThread<Task> = Task | { readonly close: true };

interface LogThreadSupervisorOptions<Task, Answer> {
  /** The thread's module. */
  readonly url: string;
  /** The first message to each thread; the thread does not answer it. */
  readonly opening: Task;
  /** The answer to a task whose thread was lost before it answered. */
  readonly lost: Answer;
}

/** Runs a thread that works for the log, one task at a time. After a rest it replaces a lost one for the next task. */
export class LogThreadSupervisor<Task, Answer> {
  private thread: Worker;
  /** When the thread was lost, on the monotonic clock in ms; null while it runs. */
  private lostAt: number | null = null;
  private settle: (answer: Answer) => void = () => {};
  private closing = false;

  constructor(private readonly options: LogThreadSupervisorOptions<Task, Answer>) {
    this.thread = this.begin();
  }

  async ask(task: Task): Promise<Answer> {
    if (this.lostAt !== null) await this.restart(this.lostAt);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.settle = resolve;
    this.thread.postMessage(task satisfies ToThread<Task>);
    return promise;
  }

  async close(): Promise<void> {
    this.closing = true;
    if (this.lostAt !== null) return;
    const ended = new Promise((resolve) => this.thread.addEventListener("close", resolve));
    this.thread.postMessage({ close: true } satisfies ToThread<Task>);
    await settleWithin(CLOSE_MS_MAX, ended, () => {});
    this.thread.terminate();
  }

  private begin(): Worker {
    const { url, opening, lost } = this.options;
    const thread = new Worker(url);
    thread.onmessage = ({ data }: MessageEvent<Answer>) => this.settle(data);
    thread.onerror = () => thread.terminate();
    thread.addEventListener("close", () => {
      if (this.closing) return;
      this.lostAt = performance.now();
      this.settle(lost);
    });
    thread.postMessage(opening satisfies ToThread<Task>);
    return thread;
  }

  private async restart(lostAt: number): Promise<void> {
    await Bun.sleep(Math.max(0, lostAt + RESTART_MS - performance.now()));
    // If no thread can be started, the next task tries again.
    this.thread = this.begin();
    this.lostAt = null;
  }
}
