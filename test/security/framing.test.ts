import { describe, expect, test } from "bun:test";
import { type AddressInfo, connect, createServer } from "node:net";
import { parseAnswer, rawRequest } from "../support/servers/rawRequest.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey } from "../support/tenants.ts";

/** For what does not depend on the store. */
const sqlite = [sqliteStore];

describe.each(sqlite)("ambiguously framed requests on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  /** The answer to a send with these header lines and this body. */
  const sent = async (headers: readonly string[], body: string | Uint8Array = JSON.stringify(message())) => {
    const raw = await rawRequest(service.url, [
      "POST /api/v1/emails HTTP/1.1",
      `Authorization: Bearer ${tenant.apiKey}`,
      "Content-Type: application/json",
      "Connection: close",
      ...headers,
      "",
      body,
    ]);
    const { status, text } = parseAnswer(raw);
    return {
      status,
      ...(text === "" ? {} : { code: JSON.parse(text).code, detail: JSON.parse(text).detail }),
    };
  };
  /** What comes back of these bytes until the other end closes, or this one has had enough. */
  const exchange = (bytes: string): Promise<string> =>
    new Promise((resolve) => {
      const { hostname, port } = new URL(service.url);
      let raw = "";
      const socket = connect(Number(port), hostname, () => socket.end(bytes));
      socket.on("data", (part) => {
        raw += part.toString("latin1");
      });
      socket.on("error", () => resolve(raw));
      socket.on("close", () => resolve(raw));
    });
  const refusedOrClosed = (headers: readonly string[], body: string) =>
    exchange(
      [
        "POST /api/v1/emails HTTP/1.1",
        `Authorization: Bearer ${tenant.apiKey}`,
        "Content-Type: application/json",
        "Connection: close",
        ...headers,
        "",
        body,
      ].join("\r\n"),
    );
  const key = () => `Idempotency-Key: ${newKey()}`;
  const length = (body: string | Uint8Array = JSON.stringify(message())) =>
    `Content-Length: ${Buffer.byteLength(body)}`;
  const HOST = "Host: localhost";

  test("are accepted when they are unambiguous after all", async () => {
    expect((await sent([HOST, key(), length()])).status).toBe(202);
  });

  test.each([[""], ["Host:"], ["Host: a.example\r\nHost: b.example"], ["Host: a.example, b.example"]])(
    "with %j for a Host are 400",
    async (host) => {
      const answer = await sent([...(host === "" ? [] : [host]), key(), length()]);
      expect(answer.status).toBe(400);
    },
  );

  test("name the Host as the fault", async () => {
    const answer = await sent(["Host:", key(), length()]);
    expect(answer).toMatchObject({ code: "INVALID_REQUEST", detail: expect.stringContaining("Host") });
  });

  test.each([
    ["equal", (bytes: string) => [bytes, bytes]],
    ["other", (bytes: string) => [bytes, "Content-Length: 1"]],
    ["signed", (bytes: string) => [bytes.replace(": ", ": +")]],
    ["empty", () => ["Content-Length: "]],
    ["chunked", (bytes: string) => [bytes, "Transfer-Encoding: chunked"]],
  ])("with a second Content-Length, %s, are 400", async (_, lengths) => {
    expect((await sent([HOST, key(), ...lengths(length())])).status).toBe(400);
  });

  const body = JSON.stringify(message());
  const chunked = (size: string, text = body) => `${size}\r\n${text}\r\n0\r\n\r\n`;
  const hex = Buffer.byteLength(body).toString(16);

  test.each([
    ["a negative length", ["Content-Length: -1"], body],
    ["a length in hexadecimal", [`Content-Length: 0x${hex}`], body],
    ["a length with something behind it", [`${length()}, 0`], body],
    ["a length that no number holds", ["Content-Length: 99999999999999999999"], body],
    ["a line that goes on in the next one", ["X-Folded: a", " b", length()], body],
    ["a space before the colon", [`Content-Length : ${Buffer.byteLength(body)}`], body],
    ["a header without a name", [": a", length()], body],
    ["an unknown coding", ["Transfer-Encoding: gzip"], body],
    ["two codings", ["Transfer-Encoding: chunked, chunked"], chunked(hex)],
    ["a coding that only looks like one", ["Transfer-Encoding: xchunked"], chunked(hex)],
    ["a coding with a tab in it", ["Transfer-Encoding:\tchunked\u000b"], chunked(hex)],
    ["chunks and a length", [length(), "Transfer-Encoding: chunked"], chunked(hex)],
    ["a length and chunks", ["Transfer-Encoding: chunked", length()], chunked(hex)],
    ["a negative chunk", ["Transfer-Encoding: chunked"], chunked(`-${hex}`)],
    ["a chunk of 0x", ["Transfer-Encoding: chunked"], chunked(`0x${hex}`)],
    ["a chunk of no size", ["Transfer-Encoding: chunked"], chunked("")],
    ["a chunk of a size that no number holds", ["Transfer-Encoding: chunked"], chunked("f".repeat(20))],
  ] as const)("with %s are not accepted", async (_, headers, sentBody) => {
    const raw = await refusedOrClosed([HOST, key(), ...headers], sentBody);
    expect(raw).not.toMatch(/HTTP\/1\.1 2/);
  });

  test.each([
    ["bare line feeds", "GET /health/live HTTP/1.1\nHost: a\n\n"],
    [
      "a request within a body",
      `POST /api/v1/emails HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: a\r\n\r\n`,
    ],
  ])("with %s begin no second request", async (_, bytes) => {
    const raw = await exchange(bytes);
    expect(raw.split("HTTP/1.1 ").length - 1).toBeLessThanOrEqual(1);
    expect(raw).not.toContain("HTTP/1.1 200");
  });

  test("with a chunk extension are read by the chunk size alone", async () => {
    const answer = await sent([HOST, key(), "Transfer-Encoding: chunked"], chunked(`${hex};a="b"`));
    expect([202, 400]).toContain(answer.status);
  });

  test("with two equal Content-Lengths say so, on every path and method", async () => {
    const lines = (method: string, path: string) => [
      `${method} ${path} HTTP/1.1`,
      HOST,
      "Connection: close",
      "Content-Length: 0",
      "Content-Length: 0",
      "",
      "",
    ];
    for (const [method, path] of [
      ["GET", "/webhooks"],
      ["POST", "/api/v1/attachments"],
      ["DELETE", "/nowhere"],
    ] as const) {
      const { status, text } = parseAnswer(await rawRequest(service.url, lines(method, path)));
      expect({ status, code: JSON.parse(text).code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
      expect(text).toContain("Content-Length");
    }
  });

  test.each([["["], ["a%zz"], ["x:99999"], ["a?b=c"]])(
    "with a Host of %j, which is part of no URL, are answered as others",
    async (host) => {
      const answerTo = async (target: string, ...headers: readonly string[]) => {
        const lines = [`GET ${target} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...headers, "", ""];
        return parseAnswer(await rawRequest(service.url, lines));
      };
      const authorization = `Authorization: Bearer ${tenant.apiKey}`;
      const listed = await answerTo("/api/v1/emails?status=queued&status=sent", authorization);
      expect(listed.status).toBe(200);
      const refused = await answerTo("/api/v1/emails?status=wrong&status=sent", authorization);
      expect({ status: refused.status, pointer: JSON.parse(refused.text).errors[0].pointer }).toEqual({
        status: 400,
        pointer: "/status",
      });
      const page = await answerTo("/dashboard/messages?q=ana");
      expect(page.status).toBe(303);
      expect(page.headers.get("location")).toBe(
        `/dashboard/log-in?next=${encodeURIComponent("/dashboard/messages?q=ana")}`,
      );
      const logIn = await answerTo("/dashboard/log-in?ended");
      expect(logIn.status).toBe(200);
      expect(logIn.text).toContain("Your session has ended");
    },
  );

  test("with a fragment in the target name no path", async () => {
    for (const [method, path] of [
      ["GET", "/webhooks#one"],
      ["POST", "/api/v1/emails#/batch"],
    ] as const) {
      const authorization = `Authorization: Bearer ${tenant.apiKey}`;
      const lines = [`${method} ${path} HTTP/1.1`, HOST, authorization, "Connection: close"];
      const { status, text } = parseAnswer(
        await rawRequest(service.url, [...lines, "Content-Length: 0", "", ""]),
      );
      expect({ status, code: JSON.parse(text).code }).toEqual({ status: 404, code: "NOT_FOUND" });
    }
  });

  test("with two Idempotency-Keys are refused, equal ones too", async () => {
    for (const second of ["one-and-the-same", "another-one"]) {
      const answer = await sent([
        HOST,
        "Idempotency-Key: one-and-the-same",
        `Idempotency-Key: ${second}`,
        length(),
      ]);
      expect(answer).toMatchObject({ status: 400, code: "IDEMPOTENCY_KEY_REQUIRED" });
      expect(answer.detail).toContain("sent once");
    }
    expect((await sent([HOST, "Idempotency-Key: with,a,comma", length()])).status).toBe(202);
  });

  test("with a byte order mark before the JSON are refused", async () => {
    const body = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(message()))]);
    const answer = await sent([HOST, key(), length(body)], body);
    expect(answer).toMatchObject({ status: 400, code: "INVALID_REQUEST" });
    expect(answer.detail).toContain("byte order mark");
  });
});

test("an answer counts although the connection is reset after it", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write("HTTP/1.1 413 \r\n\r\n", () => socket.resetAndDestroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const raw = await rawRequest(`http://127.0.0.1:${port}`, ["POST / HTTP/1.1", "", "a body"]);
  expect(parseAnswer(raw).status).toBe(413);
  server.close();
});
