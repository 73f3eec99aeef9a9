import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { clamavScanner } from "../../../src/adapters/clamav/clamavScanner.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { type Clamd, hasClamd, MALWARE_NAME, MALWARE_TEXT, startClamd } from "../../support/servers/clamd.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A scanner's verdict or error, in one line. */
async function outcome(scan: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await scan);
  } catch (error) {
    return error instanceof StoreError ? `${error.failure}: ${error.message}` : `unexpected ${error}`;
  }
}

/** What was sent as one file, once its end has come; undefined before that. */
function fileOf(received: Buffer): Buffer | undefined {
  const command = "zINSTREAM\0";
  if (!received.toString("latin1").startsWith(command)) return undefined;
  const chunks: Buffer[] = [];
  for (let at = command.length; at + 4 <= received.length; ) {
    const length = received.readUInt32BE(at);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(received.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return undefined;
}

/** A scripted clamd: `answer` gets each complete file, `greet` each connection. */
async function fakeClamd(
  answer: (socket: Socket, file: Buffer) => void,
  greet: (socket: Socket) => void = () => undefined,
): Promise<{ url: string; files: Buffer[]; connections: number }> {
  const state = { url: "", files: [] as Buffer[], connections: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    state.connections += 1;
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on("error", () => undefined);
    greet(socket);
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      const file = fileOf(received);
      if (file === undefined) return;
      state.files.push(file);
      answer(socket, file);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  state.url = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

describe("the protocol of clamd", () => {
  test.each([
    ["stream: OK\0", '"clean"'],
    ["stream: Win.Test.EICAR_HDB-1 FOUND\0", '{"found":"Win.Test.EICAR_HDB-1"}'],
    ["stream: OK FOUND\0", '{"found":"OK"}'],
    [
      "INSTREAM size limit exceeded. ERROR\0",
      "unavailable: the malware scanner takes no files of this size (StreamMaxLength)",
    ],
    ["stream: Can't allocate memory ERROR\0", "unavailable: the malware scanner answers with an error"],
    ["UNKNOWN COMMAND\0", "unavailable: the malware scanner answers with an error"],
    ["stream: OKAY\0", "unavailable: the malware scanner answers with an error"],
    ["\0", "unavailable: the malware scanner answers with an error"],
  ])("knows the reply %j", async (reply, expected) => {
    const clamd = await fakeClamd((socket) => socket.write(reply));
    expect(await outcome(clamavScanner(clamd).scan(Buffer.from("text")))).toBe(expected);
  });

  test("stops reading a reply that never ends", async () => {
    const clamd = await fakeClamd((socket) => socket.write("x".repeat(10_000)));
    const result = await outcome(clamavScanner(clamd).scan(Buffer.from("text")));
    expect(result).toBe("unavailable: the malware scanner answers something else");
  });

  test("reads a reply that arrives in pieces", async () => {
    const clamd = await fakeClamd((socket) => {
      socket.write("stre");
      setImmediate(() => {
        socket.write("am: A.B FOU");
        setImmediate(() => socket.end("ND\0"));
      });
    });
    expect(await outcome(clamavScanner(clamd).scan(Buffer.from("text")))).toBe('{"found":"A.B"}');
  });

  test.each([0, 1, 65_535, 65_536, 65_537, 5_000_000])("sends %d bytes unchanged", async (length) => {
    const clamd = await fakeClamd((socket) => socket.end("stream: OK\0"));
    const bytes = randomBytes(length);
    expect(await clamavScanner(clamd).scan(bytes)).toBe("clean");
    expect(clamd.files).toHaveLength(1);
    expect(clamd.files[0]?.equals(bytes)).toBe(true);
  });

  test("opens a connection for each file, so verdicts cannot be mixed up", async () => {
    const clamd = await fakeClamd((socket, file) => socket.end(`stream: ${file} FOUND\0`));
    const scanner = clamavScanner(clamd);
    const names = Array.from({ length: 20 }, (_, index) => `Name-${index}`);
    const found = await Promise.all(names.map((name) => scanner.scan(Buffer.from(name))));
    expect(found).toEqual(names.map((name) => ({ found: name })));
    expect(clamd.connections).toBe(20);
  });
});

describe("a clamd that gives no verdict is unavailable:", () => {
  const unavailable = "unavailable: the malware scanner";

  test.each([
    ["it closes without a reply", (socket: Socket) => socket.end()],
    ["it closes in the middle of its reply", (socket: Socket) => socket.end("stream: OK")],
    ["it closes in the middle of a name", (socket: Socket) => socket.end("stream: Win.Te")],
    ["it resets the connection", (socket: Socket) => socket.resetAndDestroy()],
  ])("%s", async (_, answer) => {
    const clamd = await fakeClamd(answer);
    expect(await outcome(clamavScanner(clamd).scan(Buffer.from("text")))).toStartWith(unavailable);
  });

  test("it hangs after the file, or in the middle of its reply", async () => {
    for (const reply of ["", "stream: OK"]) {
      const clamd = await fakeClamd((socket) => socket.write(reply));
      const scanner = clamavScanner({ ...clamd, verdictTimeoutMs: 100 });
      expect(await outcome(scanner.scan(Buffer.from("text")))).toBe(
        `${unavailable} gives no verdict in time`,
      );
    }
  });

  test("it does not read the file", async () => {
    const clamd = await fakeClamd(
      () => undefined,
      (socket) => socket.pause(),
    );
    const scanner = clamavScanner({ ...clamd, verdictTimeoutMs: 200 });
    expect(await outcome(scanner.scan(Buffer.alloc(40_000_000)))).toBe(
      `${unavailable} gives no verdict in time`,
    );
  });

  test("it closes before it has read the file", async () => {
    const clamd = await fakeClamd(
      () => undefined,
      (socket) => socket.destroy(),
    );
    expect(await outcome(clamavScanner(clamd).scan(Buffer.alloc(5_000_000)))).toStartWith(unavailable);
  });

  test("nothing listens on its port or path", async () => {
    for (const url of ["tcp://127.0.0.1:1", "tcp://[::1]:1", "unix:/nowhere/clamd.sock"])
      expect(await outcome(clamavScanner({ url }).scan(Buffer.from("text")))).toBe(
        `${unavailable} cannot be asked`,
      );
  });

  test("it cannot be reached in time", async () => {
    // A host of TEST-NET-1 (RFC 5737): packets to it vanish, or the network says so at once.
    const scanner = clamavScanner({ url: "tcp://192.0.2.1:3310", connectTimeoutMs: 100 });
    expect(await outcome(scanner.scan(Buffer.from("text")))).toStartWith(`${unavailable} cannot be`);
  });
});

describe.skipIf(!hasClamd())("the real clamd", () => {
  let clamd: Clamd;
  beforeAll(async () => {
    clamd = await startClamd();
  }, 60_000);
  afterAll(() => clamd.stop());

  test.each(["tcpUrl", "unixUrl"] as const)("finds what its signature names, by its %s", async (url) => {
    const scanner = clamavScanner({ url: clamd[url] });
    expect(await scanner.scan(Buffer.from(`before ${MALWARE_TEXT} after`))).toEqual({ found: MALWARE_NAME });
    expect(await scanner.scan(Buffer.from(MALWARE_TEXT.slice(1)))).toBe("clean");
  });

  test("finds it at the end of the largest file, and across chunks", async () => {
    const scanner = clamavScanner({ url: clamd.unixUrl });
    const bytes = Buffer.alloc(5_000_000, "x");
    expect(await scanner.scan(bytes)).toBe("clean");
    for (const at of [0, 65_536 - 10, 5_000_000 - MALWARE_TEXT.length]) {
      const infected = Buffer.from(bytes);
      infected.write(MALWARE_TEXT, at);
      expect(await scanner.scan(infected)).toEqual({ found: MALWARE_NAME });
    }
  });

  test("scans an empty file, and many files at once", async () => {
    const scanner = clamavScanner({ url: clamd.tcpUrl });
    expect(await scanner.scan(Buffer.alloc(0))).toBe("clean");
    const texts = Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0 ? MALWARE_TEXT : `text ${index}`,
    );
    const results = await Promise.all(texts.map((text) => scanner.scan(Buffer.from(text))));
    const expected = texts.map((text) => (text === MALWARE_TEXT ? { found: MALWARE_NAME } : "clean"));
    expect(results).toEqual(expected as typeof results);
  });

  test("gives no verdict on a file larger than it accepts", async () => {
    const bytes = Buffer.alloc(clamd.streamBytesMax + 1_000_000);
    expect(await outcome(clamavScanner({ url: clamd.tcpUrl }).scan(bytes))).toStartWith("unavailable");
  });
});
