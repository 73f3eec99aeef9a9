import type { EventStoreDBClient } from "@eventstore/db-client";
import { Client, status } from "@grpc/grpc-js";
import { sleep } from "../../../kernel/concurrency/sleep.ts";
import { messageOf } from "../../../kernel/text/errorReason.ts";
import { NotSentError } from "../clientErrors.ts";
import { AttemptTimedOutError, backoffMs } from "../deadline.ts";
import { type PrivateClientMethods, privateClientMethods } from "../privateClientMethods.ts";
import { type AppendCall, BatchAppendCall, type CarriedAppend } from "./batchAppendCall.ts";
import { type AppendAnswer, BATCH_APPEND_PATH, type EncodedAppend } from "./batchAppendFormat.ts";

/** The server gives up a write after 2 s. If it answers no request at all for this long, the connection is dead. */
const SILENCE_MS_MAX = 2_400;

/**
 * Sends all attempts at appends on one stream of requests. The first attempt opens it; it is opened again after it
 * breaks. A stream that breaks fails the attempts in flight and those waiting. A failed append affects no other.
 */
export class BatchAppendStream {
  private readonly vendor: PrivateClientMethods;
  private readonly waiting: Attempt[] = [];
  private stream: BatchAppendCall | null = null;
  private isOpening = false;
  private isClosed = false;
  /** How many streams have broken since the server's last answer. */
  private failures = 0;
  /** Why the last of them broke; null once the server has answered. */
  private lastFailure: unknown = null;
  /** How many streams have broken, or could not be opened, so far. */
  private streamsLost = 0;

  constructor(client: EventStoreDBClient) {
    this.vendor = privateClientMethods(client);
  }

  /**
   * How often attempts were lost. It changes before any of them is told, so a caller that keeps an order can avoid
   * sending anything new before it has repeated the lost ones.
   */
  get breaks(): number {
    return this.streamsLost;
  }

  /**
   * Sends one attempt. Throws {@link NotSentError}, {@link AttemptTimedOutError}, or the error that ended the stream.
   */
  attempt(append: EncodedAppend, timeMs: number): Promise<AppendAnswer> {
    return new Promise((resolve, reject) => {
      const attempt: Attempt = {
        append,
        sentOn: null,
        correlationId: "",
        timer: setTimeout(() => this.late(attempt, timeMs), timeMs),
        answered: (answer) => {
          clearTimeout(attempt.timer);
          resolve(answer);
        },
        lost: (error) => {
          clearTimeout(attempt.timer);
          reject(error);
        },
      };
      if (this.isClosed) return attempt.lost(new NotSentError("the store is closed"));
      this.waiting.push(attempt);
      this.sendOn();
    });
  }

  /** Closes the stream and fails all attempts. */
  close(): void {
    this.isClosed = true;
    this.stream?.end(new Error("the store is closed"));
    this.failWaiting(new Error("the store is closed"));
  }

  private sendOn(): void {
    if (this.waiting.length === 0) return;
    const { stream } = this;
    if (stream === null) {
      if (!this.isOpening) void this.open();
      return;
    }
    let [attempt] = this.waiting;
    // A stream that breaks during a send empties `waiting`.
    while (attempt !== undefined && stream.hasRoomFor(attempt.append)) {
      this.waiting.shift();
      attempt.sentOn = stream;
      attempt.correlationId = stream.send(attempt);
      [attempt] = this.waiting;
    }
  }

  private async open(): Promise<void> {
    this.isOpening = true;
    try {
      if (this.failures > 0) await sleep(backoffMs(this.failures - 1));
      const client = await this.vendor.getGRPCClient(Client, "batchAppend");
      if (this.isClosed) return;
      const [metadata, options] = this.vendor.callArguments(
        { requiresLeader: true },
        { deadline: Number.POSITIVE_INFINITY },
      );
      const call: AppendCall = client.makeBidiStreamRequest(
        BATCH_APPEND_PATH,
        (request: Buffer) => request,
        (answer: Buffer) => answer,
        metadata,
        options,
      );
      this.stream = new BatchAppendCall(call, {
        answered: () => {
          this.failures = 0;
          this.lastFailure = null;
          this.sendOn();
        },
        ended: (_stream, error) => void this.ended(client, error),
      });
    } catch (error) {
      this.hasFailed(error);
    } finally {
      this.isOpening = false;
    }
    this.sendOn();
  }

  private async ended(client: Client, error: Error): Promise<void> {
    this.stream = null;
    this.hasFailed(error);
    // The next stream must not open on a channel that is about to be dropped.
    this.isOpening = true;
    await this.vendor.handleError(client, error).catch(() => {});
    this.isOpening = false;
    this.sendOn();
  }

  private hasFailed(error: unknown): void {
    this.failures += 1;
    this.streamsLost += 1;
    this.lastFailure = error;
    this.failWaiting(error);
  }

  private failWaiting(error: unknown): void {
    for (const attempt of this.waiting.splice(0))
      attempt.lost(new NotSentError(messageOf(error), { cause: error }));
  }

  private late(attempt: Attempt, timeMs: number): void {
    const message = `no answer in ${Math.ceil(timeMs)} ms`;
    const place = this.waiting.indexOf(attempt);
    if (place >= 0) {
      this.waiting.splice(place, 1);
      const cause = this.lastFailure;
      attempt.lost(new NotSentError(cause === null ? message : messageOf(cause), { cause }));
      return;
    }
    const { sentOn, correlationId } = attempt;
    sentOn?.forget(correlationId);
    attempt.lost(new AttemptTimedOutError(message));
    if (sentOn !== null && sentOn === this.stream && sentOn.silenceMs() >= SILENCE_MS_MAX) {
      sentOn.end(Object.assign(new Error(message), { code: status.UNAVAILABLE, details: message }));
    }
    this.sendOn();
  }
}

interface Attempt extends CarriedAppend {
  /** Null until it is sent. */
  sentOn: BatchAppendCall | null;
  correlationId: string;
  readonly timer: ReturnType<typeof setTimeout>;
}
