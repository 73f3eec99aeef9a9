import type { ClientDuplexStream } from "@grpc/grpc-js";
import { InFlightMap } from "../../../kernel/shortLivedCollections.ts";
import { AppendStreamLostError } from "../clientErrors.ts";
import { type AppendAnswer, decodeAnswer, type EncodedAppend, requestOf } from "./batchAppendFormat.ts";

/** How much may be in flight on one stream. A single append always may, whatever its size. */
const IN_FLIGHT_MAX = 1_024;
const IN_FLIGHT_BYTES_MAX = 8 * 1_024 * 1_024;

export type AppendCall = ClientDuplexStream<Buffer, Buffer>;

/** One attempt at an append on a stream. The stream calls at most one of the two functions, once. */
export interface CarriedAppend {
  readonly append: EncodedAppend;
  answered(answer: AppendAnswer): void;
  /** The stream has ended without an answer. After an earlier answer the error is {@link AppendStreamLostError}. */
  lost(error: Error): void;
}

/**
 * One call of the server's BatchAppend. Requests go out in the order of {@link send}, answers come in any order. It
 * ends once, at the first of error, end and close; then everything in flight is lost.
 */
export class BatchAppendCall {
  private readonly inFlight = new InFlightMap<CarriedAppend>();
  private readonly prefix = crypto.randomUUID().slice(0, -12);
  private requests = 0;
  private bytes = 0;
  private hasEnded = false;
  /** Whether the server has answered anything. */
  private wasHeard = false;
  /** Since when requests have waited without any answer, in ms of `performance.now()`. */
  private silentSince: number | null = null;

  constructor(
    private readonly call: AppendCall,
    private readonly owner: { answered(): void; ended(stream: BatchAppendCall, error: Error): void },
  ) {
    call.on("data", (bytes: Buffer) => this.receive(bytes));
    // The loss of the server shows as any of these three.
    call.on("error", (error: Error) => this.end(error));
    call.on("end", () => this.end(new Error("the server ended the stream of appends")));
    call.on("close", () => this.end(new Error("the stream of appends was closed")));
  }

  hasRoomFor({ length }: EncodedAppend): boolean {
    if (this.inFlight.size === 0) return true;
    return this.inFlight.size < IN_FLIGHT_MAX && this.bytes + length <= IN_FLIGHT_BYTES_MAX;
  }

  /** Sends a request and returns its correlation id. */
  send(carried: CarriedAppend): string {
    this.requests += 1;
    const correlationId = `${this.prefix}${this.requests.toString(16).padStart(12, "0")}`;
    this.inFlight.set(correlationId, carried);
    this.bytes += carried.append.length;
    this.silentSince ??= performance.now();
    this.call.write(requestOf(carried.append, correlationId));
    return correlationId;
  }

  /** Drops an attempt whose answer nobody waits for any more. */
  forget(correlationId: string): void {
    const carried = this.inFlight.get(correlationId);
    if (carried === undefined) return;
    this.inFlight.delete(correlationId);
    this.bytes -= carried.append.length;
  }

  /** How long the server has answered none of the waiting requests, in ms. */
  silenceMs(): number {
    return this.silentSince === null ? 0 : performance.now() - this.silentSince;
  }

  /** Ends the stream; everything in flight is lost. */
  end(error: Error): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.call.cancel();
    const lost = this.inFlight.values();
    this.owner.ended(this, error);
    const broken = this.wasHeard ? new AppendStreamLostError(error.message, { cause: error }) : error;
    for (const carried of lost) carried.lost(broken);
  }

  private receive(bytes: Buffer): void {
    if (this.hasEnded) return;
    try {
      const { correlationId, answer } = decodeAnswer(bytes);
      const carried = this.inFlight.get(correlationId);
      this.forget(correlationId);
      this.wasHeard = true;
      this.silentSince = this.inFlight.size > 0 ? performance.now() : null;
      // Undefined for an answer that comes too late.
      carried?.answered(answer);
      this.owner.answered();
    } catch (error) {
      this.end(new Error("the server's answer to an append cannot be read", { cause: error }));
    }
  }
}
