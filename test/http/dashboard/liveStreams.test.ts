import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import type { Session } from "../../../src/http/dashboard/frame/sessions.ts";
import { createLiveStreams } from "../../../src/http/dashboard/live/liveStreams.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const CHANGES = 1_000;
const VERSION_CHARS = 100;

test("a stream that nobody reads is ended, and buffers only a little", async () => {
  let changes = 0;
  const version = async () => {
    changes += 1;
    return String(changes).padStart(VERSION_CHARS, "0");
  };
  const streams = createLiveStreams({ isAlive: async () => true });
  const session = { id: "session" } as unknown as Session;
  const watch = { session, workspaceId: "workspace", subject: "subject", version, restMs: 0, shown: "" };
  const [unread, read] = [streams.open(watch), streams.open({ ...watch, subject: "another" })];
  let readBytes = 0;
  const reading = (async () => {
    for await (const chunk of read?.body ?? []) readBytes += chunk.length;
  })();
  for (let change = 0; change < CHANGES; change += 1) {
    jest.advanceTimersByTime(1_000);
    for (let tick = 0; tick < 20; tick += 1) await Promise.resolve();
  }
  expect(readBytes).toBeGreaterThan((CHANGES * VERSION_CHARS) / 2);
  await expect(unread?.text()).rejects.toThrow("does not read");
  streams.stop();
  await reading;
});
