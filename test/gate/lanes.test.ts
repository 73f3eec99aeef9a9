import { expect, test } from "bun:test";
import { type Lane, runInLanes } from "./lanes.ts";

/** Runs files that end when they are told to; answers what runs and how to end it. */
function heldFiles() {
  const running = new Map<string, { readonly lane: Lane; readonly end: () => void }>();
  const order: string[] = [];
  const run = (file: string, lane: Lane) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    order.push(file);
    running.set(file, {
      lane,
      end() {
        running.delete(file);
        resolve();
      },
    });
    return promise;
  };
  const end = async (file: string) => {
    running.get(file)?.end();
    await Bun.sleep(0);
  };
  const now = () => Object.fromEntries([...running].map(([file, { lane }]) => [file, lane]));
  return { run, end, now, order };
}

test("as many files run at once as there are lanes, and a free lane takes the next", async () => {
  const { run, end, now, order } = heldFiles();
  const all = runInLanes(["a", "b", "c", "d"], 2, run);
  expect(now()).toEqual({ a: 0, b: 1 });
  await end("b");
  expect(now()).toEqual({ a: 0, c: 1 });
  await end("c");
  await end("a");
  await end("d");
  await all;
  expect(order).toEqual(["a", "b", "c", "d"]);
});

test("a file waits for a lane in which it may run, and others go before it", async () => {
  const { run, end, now, order } = heldFiles();
  const mayRun = (file: string, lane: Lane) => lane === 0 || !file.startsWith("server");
  const all = runInLanes(["server1", "server2", "plain1", "plain2"], 2, run, mayRun);
  expect(now()).toEqual({ server1: 0, plain1: 1 });
  await end("plain1");
  await end("plain2");
  expect(now()).toEqual({ server1: 0 });
  await end("server1");
  expect(now()).toEqual({ server2: 0 });
  await end("server2");
  await all;
  expect(order).toEqual(["server1", "plain1", "plain2", "server2"]);
});

test("a lane that breaks is not taken for one that has ended", async () => {
  const broken = runInLanes(["a"], 1, () => Promise.reject(new Error("no such folder")));
  await expect(broken).rejects.toThrow("no such folder");
});

test("a file that may run nowhere is not passed over in silence", async () => {
  const ran: string[] = [];
  const run = async (file: string) => void ran.push(file);
  const running = runInLanes(["a", "b"], 2, run, (file) => file !== "a");
  await expect(running).rejects.toThrow("no lane may run a");
  expect(ran).toEqual(["b"]);
});
