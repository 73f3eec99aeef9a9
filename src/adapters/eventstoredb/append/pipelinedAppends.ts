import { type AppendResult, type NewEvent, StoreError } from "../../../ports/eventStore.ts";
import type { Connection } from "../connection.ts";
import { type Deadline, leftMs } from "../deadline.ts";
import { type Append, append, appendedOf, definite } from "./append.ts";
import { type EncodedAppend, encodeAppend } from "./batchAppendFormat.ts";

/** An append waiting to be sent, or for its answer. */
interface Waiting {
  readonly request: Append;
  readonly encoded: EncodedAppend;
  readonly deadline: Deadline;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Appends that reach the log in call order without waiting for each other. They go out as one stream of requests, which
 * the server handles in turn, so a broken connection loses only the end of it. Lost appends are repeated one by one, in
 * order, before anything new is sent. Nothing else may append through the same store.
 */
export class PipelinedAppends {
  /** How many sent appends have not settled. */
  private inFlight = 0;
  /** Sent appends without an answer yet, in call order. */
  private readonly unanswered: Waiting[] = [];
  /** Appends not sent yet. */
  private unsent: Waiting[] = [];
  private isMending = false;
  /** The value of `breaks` when everything sent so far was settled. */
  private breaksMended = 0;
  private failure: StoreError | null = null;

  constructor(private readonly connection: Connection) {}

  append(
    stream: string,
    events: readonly NewEvent[],
    expected: Append["expected"],
    deadline: Deadline,
  ): Promise<AppendResult> {
    const encoded = encodeAppend(stream, events, expected);
    return new Promise((resolve, reject) => {
      this.unsent.push({ request: { stream, events, expected }, encoded, deadline, resolve, reject });
      this.sendOn();
    });
  }

  private sendOn(): void {
    if (this.failure !== null) for (const { reject } of this.unsent.splice(0)) reject(this.failure);
    if (this.inFlight === 0 && !this.isMending) this.breaksMended = this.connection.batches.breaks;
    while (!this.isMending && this.breaksMended === this.connection.batches.breaks) {
      const next = this.unsent.shift();
      if (next === undefined) return;
      void this.send(next);
    }
  }

  private async send(waiting: Waiting): Promise<void> {
    this.inFlight += 1;
    this.unanswered.push(waiting);
    try {
      const { batches } = this.connection;
      const answer = definite(await batches.attempt(waiting.encoded, leftMs(waiting.deadline)));
      this.unanswered.splice(this.unanswered.indexOf(waiting), 1);
      await appendedOf(this.connection, answer, waiting.deadline).then(waiting.resolve, waiting.reject);
    } catch {
      this.isMending = true;
    }
    this.inFlight -= 1;
    if (this.isMending && this.inFlight === 0) await this.mend();
    this.sendOn();
  }

  /** Repeats appends without an answer, in order. Called when nothing is in flight. */
  private async mend(): Promise<void> {
    for (const { request, deadline, resolve, reject } of this.unanswered.splice(0)) {
      if (this.failure !== null) reject(this.failure);
      else
        await append(this.connection, request, deadline).then(resolve, (error: unknown) => {
          this.failure = new StoreError("unavailable", "an append before this one was lost", {
            cause: error,
          });
          reject(error);
        });
    }
    this.isMending = false;
  }
}
