import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "./receiverCertificate.ts";

/** One call as a receiver received it. */
export interface ReceivedCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers a call; the default answers 200. */
export type Answer = (call: ReceivedCall, response: ServerResponse) => void;

/** An HTTPS server on loopback, for `receiver.example.org` and names below it. */
export interface WebhookReceiver {
  readonly port: number;
  readonly calls: readonly ReceivedCall[];
  stop(): void;
}

export async function startWebhookReceiver(
  answer: Answer = (_call, response) => response.end("ok"),
): Promise<WebhookReceiver> {
  const calls: ReceivedCall[] = [];
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const call = { path: request.url ?? "", headers, body: Buffer.concat(chunks).toString("utf8") };
      calls.push(call);
      answer(call, response);
    });
  };
  const server = createServer({ cert: RECEIVER_CERTIFICATE, key: RECEIVER_KEY }, onRequest);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    calls,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
