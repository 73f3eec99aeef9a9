import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const WRITE_BYTES = 65_536;
const TRICKLE_MS = 50;
/** What nginx passes on with the settings in docs/deployment.md. */
const PROXIED_BYTES_MAX = 16 * 1_024 * 1_024;
/** Twice the largest body, which Python's urllib sends with `Connection: close`. */
const TOO_LONG_BYTES = 32_000_000;

/**
 * The status line that a client gets which, like nginx, speaks HTTP/1.0, writes all its body first, and gives up when a
 * write fails; the error if one does.
 */
function answerToStubbornClient(url: string, lines: readonly string[], body: Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    let answer = "";
    socket.pause();
    socket.on("data", (part) => {
      answer += part.toString("latin1");
    });
    socket.on("error", (error) => resolve(String(error)));
    socket.on("end", () => {
      socket.destroy();
      resolve(answer.split("\r\n", 1)[0] ?? "");
    });
    const writeFrom = (at: number): void => {
      if (at >= body.byteLength) socket.resume();
      else
        socket.write(body.subarray(at, at + WRITE_BYTES), (error) => {
          // After a turn, so that the service can answer before all is written.
          if (!error) setImmediate(() => writeFrom(at + WRITE_BYTES));
        });
    };
    const head = [...lines, "Host: localhost", "Connection: close", `Content-Length: ${body.byteLength}`];
    socket.write(`${head.join("\r\n")}\r\n\r\n`, () => setImmediate(() => writeFrom(0)));
  });
}

describe("a request that is refused before its body is read", () => {
  const { service, tenant } = serviceFixture(sqliteStore);

  const send = (...more: readonly string[]) => [
    "POST /api/v1/emails HTTP/1.0",
    "Content-Type: application/json",
    ...more,
  ];
  const authorization = () => `Authorization: Bearer ${tenant.apiKey}`;

  test.each([20_000, 13_000_000, PROXIED_BYTES_MAX])(
    "is answered to a client that first writes all its %d bytes and then closes",
    async (bytes) => {
      const body = Buffer.alloc(bytes, " ");
      const withoutKey = await answerToStubbornClient(service.url, send(authorization()), body);
      expect(withoutKey).toBe("HTTP/1.1 400 Bad Request");
      const unauthorized = await answerToStubbornClient(service.url, send(), body);
      expect(unauthorized).toBe("HTTP/1.1 401 Unauthorized");
      const unknown = await answerToStubbornClient(service.url, ["POST /nowhere HTTP/1.0"], body);
      expect(unknown).toBe("HTTP/1.1 404 Not Found");
    },
  );

  test("or is longer than the limit, is answered likewise", async () => {
    const lines = send(authorization(), `Idempotency-Key: ${newKey()}`);
    const answer = await answerToStubbornClient(service.url, lines, Buffer.alloc(TOO_LONG_BYTES, " "));
    expect(answer).toBe("HTTP/1.1 413 Payload Too Large");
  });

  test("or in the middle of it, is answered likewise", async () => {
    const head = '--b\r\nContent-Disposition: form-data; name="wrong"; filename="a.txt"\r\n\r\n';
    const lines = ["POST /api/v1/attachments HTTP/1.0", "Content-Type: multipart/form-data; boundary=b"];
    const body = Buffer.from(head.padEnd(3_000_000));
    const answer = await answerToStubbornClient(service.url, [...lines, authorization()], body);
    expect(answer).toBe("HTTP/1.1 400 Bad Request");
  });

  /** A request without a key whose body the test writes, or does not. */
  const begin = (framing: string) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    let answer = "";
    let isOver = false;
    socket.on("data", (part) => {
      answer += part.toString("latin1");
    });
    for (const event of ["error", "end"])
      socket.on(event, () => {
        isOver = true;
        socket.destroy();
      });
    socket.write(`${[...send(), "Host: localhost", "Connection: close", framing].join("\r\n")}\r\n\r\n`);
    return { socket, answer: () => answer, isOver: () => isOver };
  };

  test("is not read for ever: neither an endless body, nor one that trickles or never comes", async () => {
    const silent = begin("Content-Length: 16000000");
    const trickling = begin("Content-Length: 16000000");
    const endless = begin("Transfer-Encoding: chunked");
    const trickle = setInterval(() => trickling.socket.write(" "), TRICKLE_MS);
    const chunk = `${WRITE_BYTES.toString(16)}\r\n${" ".repeat(WRITE_BYTES)}\r\n`;
    const pour = () => endless.socket.write(chunk, (error) => !error && setImmediate(pour));
    pour();
    await until(() => silent.answer().includes(" 401 ") && silent.isOver(), "the answer to the silent one");
    await until(() => endless.isOver(), "the end of the endless one");
    await until(() => trickling.isOver(), "the end of the trickling one");
    clearInterval(trickle);
  });
});
