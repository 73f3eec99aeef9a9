import { expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import {
  canStartEventStoreDb,
  freePort,
  SERVER_VARIABLE,
  startEventStoreDb,
} from "../support/stores/eventstoredb.ts";
import { FILES_ON_A_SERVER_MAX, ownServers, SERVER_LANES } from "./laneServers.ts";

/** Servers that are none: their ports count up from 1. */
function countedServers() {
  const running = new Set<number>();
  let started = 0;
  const start = async () => {
    started += 1;
    const port = started;
    running.add(port);
    const process = {
      pause: async () => {},
      resume() {},
      async kill() {
        running.delete(port);
      },
      start: async () => {},
    };
    return { url: `esdb://${port}`, port, folder: `/${port}`, process };
  };
  return { start, running };
}

test("each lane that has servers has its own, which makes room for a new one before its log is long", async () => {
  const { start, running } = countedServers();
  const servers = ownServers(start);
  expect([servers.has(0), servers.has(SERVER_LANES - 1), servers.has(SERVER_LANES)]).toEqual([
    true,
    true,
    false,
  ]);
  const portIn = async (lane: number) => JSON.parse((await servers.env(lane))[SERVER_VARIABLE] ?? "").port;
  expect([await portIn(0), await portIn(1)]).toEqual([1, 2]);
  for (let more = 1; more < FILES_ON_A_SERVER_MAX; more += 1) expect(await portIn(0)).toBe(1);
  expect([...running]).toEqual([1, 2]);
  expect(await portIn(0)).toBe(3);
  expect([...running]).toEqual([2, 3]);
  expect(await portIn(1)).toBe(2);
  await servers.stop(0);
  expect([...running]).toEqual([2]);
  await servers.stop();
  expect([...running]).toEqual([]);
  expect(await portIn(0)).toBe(4);
});

test("several files of one process have one server, and a new one where the old would serve too many", async () => {
  const { start } = countedServers();
  const servers = ownServers(start);
  const portFor = async (files: number) =>
    JSON.parse((await servers.env(0, files))[SERVER_VARIABLE] ?? "").port;
  expect(await portFor(FILES_ON_A_SERVER_MAX - 2)).toBe(1);
  expect(await portFor(2)).toBe(1);
  expect(await portFor(1)).toBe(2);
  expect(await portFor(FILES_ON_A_SERVER_MAX)).toBe(3);
});

test.skipIf(!canStartEventStoreDb)(
  "a server whose port somebody takes before it does starts on another",
  async () => {
    const other = createServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const ports = [port];
    const server = await startEventStoreDb(async (except) => ports.pop() ?? freePort(except));
    expect(server.port).not.toBe(port);
    await server.process.kill();
    other.close();
  },
  120_000,
);
