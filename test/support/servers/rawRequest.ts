import { connect } from "node:net";
import { checkAnswer } from "../../gate/answerLog.ts";
import type { SeenAnswer } from "../../gate/documentedAnswers.ts";

/**
 * Sends exactly these lines as a request, which `fetch` would normalise. Returns the raw answer. A server that refuses a
 * body before its end may reset the connection after its answer, which still counts. `from` is the client's own address.
 */
export function rawRequest(
  url: string,
  lines: readonly (string | Uint8Array)[],
  from = "127.0.0.1",
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    const socket = connect({ port: Number(port), host: hostname, localAddress: from }, () => {
      lines.forEach((line, index) => {
        socket.write(index === 0 ? line : "\r\n");
        if (index > 0) socket.write(line);
      });
    });
    socket.on("data", (part: Uint8Array) => parts.push(part));
    socket.on("end", () => resolve(Buffer.concat(parts).toString()));
    socket.on("error", (error) => {
      if (parts.length === 0) reject(error);
      else resolve(Buffer.concat(parts).toString());
    });
  });
}

/** Parses a raw answer. Expects a body that is not chunked, as our service sends it. */
export function parseAnswer(raw: string): SeenAnswer {
  const end = raw.indexOf("\r\n\r\n");
  const [start = "", ...fields] = raw.slice(0, end).split("\r\n");
  const headers = new Headers(
    fields.map((field): [string, string] => {
      const colon = field.indexOf(":");
      return [field.slice(0, colon), field.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(start.split(" ")[1]), headers, text: raw.slice(end + 4) };
}

/** Sends a request with exactly these headers and body bytes, and checks the answer against the OpenAPI document. */
export async function rawCall(
  url: string,
  request: readonly [method: string, path: string],
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = "",
): Promise<SeenAnswer> {
  const [method, path] = request;
  const target = new URL(url).pathname.replace(/\/$/, "") + path;
  const fields = Object.entries({ Host: "localhost", Connection: "close", ...headers });
  const head = [`${method} ${target} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)];
  const answer = parseAnswer(await rawRequest(url, [...head, "", body]));
  checkAnswer(url, method, path, answer);
  return answer;
}
