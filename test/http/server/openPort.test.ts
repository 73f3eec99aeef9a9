import { expect, test } from "bun:test";
import { connect } from "node:net";
import { openPort } from "../../../src/http/server/openPort.ts";
import { requestLog } from "../../../src/http/server/requestLog.ts";
import { until } from "../../support/until.ts";

test("a stop waits for requests, but not for a client that has sent only the start of one", async () => {
  const log = requestLog({ isWhole: false, lines: { info() {}, warn() {}, error() {} }, after: () => {} });
  const port = openPort({ host: "127.0.0.1", port: 0, log });
  const clientThatSends = (text: string) => {
    const client = connect(Number(port.url.port), "127.0.0.1", () => client.write(text));
    return client.on("error", () => {}).resume();
  };
  const slow = clientThatSends("GET /health/li");
  const waiting = clientThatSends("GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await until(() => port.pending() === 1, "the request");
  let isStopped = false;
  const stopped = port.stop().then(() => {
    isStopped = true;
  });
  expect(isStopped).toBe(false);
  expect(waiting.destroyed).toBe(false);
  waiting.destroy();
  await stopped;
  await until(() => slow.destroyed, "the connection to end");
});
