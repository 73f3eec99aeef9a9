import { type AppendResult, type NewEvent, StoreError } from "../../ports/eventStore.ts";
import { type Append, append, appendedOf, attemptOnce } from "./append.ts";
import type { Connection } from "./connection.ts";
import { type Deadline, leftMs } from "./deadline.ts";
import { encodeEvents } from "./eventEncoding.ts";

/** An append that waits for its answer, or to be sent. */
interface Waiting {
  readonly request: Append & { readonly plain: readonly NewEvent[] };
  readonly deadline: Deadline;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Appends that come to stand in the log in the order of their calls, without each waiting for the one before: they
 * go as one stream of requests, which the server takes up in turn, so a connection that breaks loses the end of it
 * and nothing in between. What was lost is repeated one by one, in order, before anything new is sent. For one process
 * that does nothing else: the vendor keeps the answers' takers in one map for all of its clients.
 */
export class OrderedAppends {
  private readonly connection: Connection;
  /** Sent and not ended, one way or the other. */
  private underWay = 0;
  /** Sent without an answer so far, in the order of the calls. */
  private readonly unanswered: Waiting[] = [];
  /** Not sent yet. */
  private unsent: Waiting[] = [];
  /** While it is being opened, the vendor's stream may send a second request before the first: so one goes alone. */
  private isOpen = false;
  private isMending = false;
  private failure: StoreError | null = null;

  constructor(private readonly regular: Connection) {
    // Credentials with the call would make it a request of its own.
    this.connection = { ...regular, appendCredentials: undefined };
  }

  append(
    stream: string,
    events: readonly NewEvent[],
    expected: Append["expected"],
    deadline: Deadline,
  ): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      const request = { stream, expected, events: encodeEvents(events), plain: events };
      this.unsent.push({ request, deadline, resolve, reject });
      this.sendOn();
    });
  }

  private sendOn(): void {
    if (this.failure !== null) for (const { reject } of this.unsent.splice(0)) reject(this.failure);
    while (!this.isMending && (this.isOpen || this.underWay === 0)) {
      const next = this.unsent.shift();
      if (next === undefined) return;
      void this.send(next);
    }
  }

  private async send(waiting: Waiting): Promise<void> {
    this.underWay += 1;
    this.unanswered.push(waiting);
    try {
      const answer = await attemptOnce(this.connection, waiting.request, leftMs(waiting.deadline));
      this.isOpen = !this.isMending;
      this.unanswered.splice(this.unanswered.indexOf(waiting), 1);
      await appendedOf(this.regular, answer, waiting.deadline).then(waiting.resolve, waiting.reject);
    } catch {
      this.isMending = true;
      this.isOpen = false;
    }
    this.underWay -= 1;
    if (this.isMending && this.underWay === 0) await this.mend();
    this.sendOn();
  }

  /** Nothing is under way: repeats in order what has no answer. */
  private async mend(): Promise<void> {
    for (const { request, deadline, resolve, reject } of this.unanswered.splice(0)) {
      const { stream, plain: events, expected } = request;
      if (this.failure !== null) reject(this.failure);
      else
        await append(this.regular, { stream, events, expected }, deadline).then(resolve, (error: unknown) => {
          this.failure = new StoreError("unavailable", "an append before this one was lost", {
            cause: error,
          });
          reject(error);
        });
    }
    this.isMending = false;
  }
}
