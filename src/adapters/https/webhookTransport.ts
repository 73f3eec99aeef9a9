import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { type RequestOptions, request as secureRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { type ConnectionOptions, createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { startTimeout } from "../../kernel/concurrency/stallSafeTimeout.ts";
import type { WebhookFailure, WebhookOutcome } from "../../kernel/outcome/webhookOutcome.ts";
import type { WebhookCall, WebhookTransport } from "../../ports/webhookTransport.ts";
import {
  type DestinationAddress,
  type DestinationOptions,
  destinationAddresses,
  portOf,
} from "./ssrfGuard.ts";

/** How long connecting may take after the look-up, including the TLS handshake if there is one. */
const CONNECT_TIMEOUT_MS = 5_000;
/** How much of an answer's body to read; then the connection is destroyed. */
const ANSWER_BYTES_MAX = 16_384;
/**
 * How much to receive for it: enough for 16 KiB of headers and for a body in chunks of one byte. Nothing else stops
 * interim answers (RFC 9110 §15.2), blank lines or zeros of a chunk's length that come without end.
 */
const RECEIVED_BYTES_MAX = 131_072;
/** The longest Retry-After that we honour, in seconds: twice the longest wait of the schedule. */
const RETRY_AFTER_SECONDS_MAX = 172_800;

interface WebhookTransportOptions extends DestinationOptions {
  /** Further certificate authorities (PEM) to trust for endpoints; null for the default ones only. */
  readonly certificateAuthorities: string | null;
  /** How long the whole call may take, including look-up and answer. */
  readonly callTimeoutMs: number;
}

type Vetted = Extract<DestinationAddress, { kind: "address" }>;

/**
 * Calls webhook endpoints over HTTPS: one connection per call, pinned to the vetted address, with the certificate
 * checked for the name. If allowed, this machine can be called over HTTP too. Redirects are answers like any other.
 */
export function webhookTransport(options: WebhookTransportOptions): WebhookTransport {
  const addressOf = destinationAddresses(options);
  const secureContext = trusting(options.certificateAuthorities);
  return {
    async call(call, signal) {
      const startedAt = performance.now();
      const durationMs = () => performance.now() - startedAt;
      if (signal.aborted) return { kind: "notSent", reason: "stopping", durationMs: 0 };
      // The resolver's own time-out applies to one try at one server, and there may be many.
      const destination = await settleWithin<DestinationAddress>(
        options.callTimeoutMs,
        addressOf(new URL(call.url).hostname, portOf(call.url)),
        () => ({ kind: "refused", reason: "dns" }),
      );
      if (destination.kind === "refused") {
        return { kind: "failed", reason: destination.reason, durationMs: durationMs() };
      }
      if (signal.aborted) return { kind: "notSent", reason: "stopping", durationMs: durationMs() };
      const remainingMs = Math.max(0, options.callTimeoutMs - durationMs());
      const exchange = new Exchange(call, destination, secureContext);
      const outcome = await exchange.run(remainingMs, signal);
      return { ...outcome, durationMs: durationMs() };
    },
  };
}

/** Made once, because certificate authorities are slow to parse. Keeps no sessions: every call is a full handshake. */
function trusting(authorities: string | null): SecureContext {
  return createSecureContext(authorities === null ? {} : { ca: [...rootCertificates, authorities] });
}

/** One request and its answer. */
class Exchange {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  /** Of everything that the socket received: the body, and what comes before and between its parts. */
  private receivedBytes = 0;
  private answer: IncomingMessage | null = null;
  /** Whether the connection is established, including TLS if it is used. */
  private isOpen = false;
  private isTimedOut = false;

  constructor(
    private readonly call: WebhookCall,
    private readonly destination: Vetted,
    private readonly secureContext: SecureContext,
  ) {}

  /** Ends within `timeoutMs`, whatever the other side does. An answer that is here by then counts. */
  run(timeoutMs: number, signal: AbortSignal): Promise<WebhookOutcome> {
    return new Promise((resolve) => {
      const sent = this.begin();
      const connectMs = Math.min(timeoutMs, CONNECT_TIMEOUT_MS);
      const stopTimeouts = [
        startTimeout(timeoutMs, () => this.timeOut(sent, settle)),
        startTimeout(connectMs, () => !this.isOpen && this.timeOut(sent, settle)),
      ];
      const settle = (outcome: WebhookOutcome) => {
        for (const stop of stopTimeouts) stop();
        signal.removeEventListener("abort", abort);
        sent.destroy();
        resolve(outcome);
      };
      const abort = () => settle({ kind: "failed", reason: "interrupted", durationMs: 0 });
      signal.addEventListener("abort", abort);
      sent.on("socket", (socket) => {
        socket.on(this.isPlain ? "connect" : "secureConnect", () => {
          this.isOpen = true;
        });
        socket.on("data", (chunk: Buffer) => this.count(chunk, settle));
      });
      sent.on("response", (answer: IncomingMessage) => this.read(answer, settle));
      sent.on("error", (error) => settle({ kind: "failed", reason: this.failureOf(error), durationMs: 0 }));
      sent.end(this.call.body);
    });
  }

  private begin(): ClientRequest {
    const { hostname, pathname, search } = new URL(this.call.url);
    const { address, family } = this.destination;
    const lookup: LookupFunction = (_host, options, callback) => {
      if (options.all) callback(null, [{ address, family }]);
      else callback(null, address, family);
    };
    const options: RequestOptions & Pick<ConnectionOptions, "secureContext"> = {
      host: hostname,
      servername: hostname,
      port: portOf(this.call.url),
      path: pathname + search,
      method: "POST",
      headers: { ...this.call.headers, "content-length": this.call.body.byteLength, connection: "close" },
      lookup,
      // A kept-alive connection would skip the look-up, and with it the vetting.
      agent: false,
      secureContext: this.secureContext,
    };
    return this.isPlain ? plainRequest(options) : secureRequest(options);
  }

  private get isPlain(): boolean {
    return this.call.url.startsWith("http:");
  }

  private count(chunk: Buffer, settle: (outcome: WebhookOutcome) => void): void {
    this.receivedBytes += chunk.byteLength;
    if (this.receivedBytes <= RECEIVED_BYTES_MAX) return;
    // The same bytes may hold a body, which is emitted later in this turn.
    setImmediate(() => settle({ kind: "failed", reason: "broken_answer", durationMs: 0 }));
  }

  private read(answer: IncomingMessage, settle: (outcome: WebhookOutcome) => void): void {
    this.answer = answer;
    const done = () => settle(this.answered(answer));
    answer.on("data", (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.bytes += chunk.byteLength;
      if (this.bytes >= ANSWER_BYTES_MAX) done();
    });
    answer.on("end", done);
    answer.on("error", () => settle({ kind: "failed", reason: "broken_answer", durationMs: 0 }));
  }

  private answered(answer: IncomingMessage): WebhookOutcome {
    const body = Buffer.concat(this.chunks).subarray(0, ANSWER_BYTES_MAX).toString("utf8");
    const retryAfterSeconds = secondsOf(answer.headers["retry-after"]);
    return { kind: "answered", statusCode: answer.statusCode ?? 0, durationMs: 0, body, retryAfterSeconds };
  }

  private timeOut(sent: ClientRequest, settle: (outcome: WebhookOutcome) => void): void {
    this.isTimedOut = true;
    settle({ kind: "failed", reason: this.failureOf(null), durationMs: 0 });
    sent.destroy();
  }

  private failureOf(error: NodeJS.ErrnoException | null): WebhookFailure {
    if (this.isTimedOut) return this.isOpen ? "timeout" : "connect";
    if (this.isOpen || this.answer !== null) return "broken_answer";
    return /CERT|SIGNATURE|ALTNAME|SELF_SIGNED|ISSUER/.test(error?.code ?? "") ? "tls" : "connect";
  }
}

/** Retry-After in whole seconds (RFC 9110 §10.2.3), as a number or as a date; null when it is neither. */
function secondsOf(value: string | undefined): number | null {
  if (value === undefined) return null;
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1_000);
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), RETRY_AFTER_SECONDS_MAX);
}
