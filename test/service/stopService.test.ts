import { describe, expect, test } from "bun:test";
import { stopService } from "../../src/service/stopService.ts";

type Parts = Parameters<typeof stopService>[0];

/** Stops parts that note what is done to them. Those in `hanging` never finish stopping. */
async function stopped(hanging: readonly string[] = []) {
  const done: string[] = [];
  const late: string[] = [];
  const note = async (name: string): Promise<void> => {
    done.push(name);
    if (hanging.includes(name)) await new Promise(() => {});
  };
  const stopping = (name: string) => ({ stop: () => note(name) });
  const parts = {
    listeners: { ...stopping("listeners"), kill: () => note("kill") },
    deps: { htmlToText: { close: () => {} }, quota: stopping("quota") },
    store: { close: () => note("store") },
    lock: { release: () => void note("lock") },
    control: { close: () => note("control") },
    dashboard: stopping("dashboard"),
    freezeWatch: stopping("freezeWatch"),
    maintenance: [stopping("verification"), stopping("rebuild")],
    readModels: stopping("readModels"),
    readers: { close: () => {} },
    stopWorkers: () => note("workers"),
    isIdle: () => true,
    leave: () => note("leave"),
  } as unknown as Parts;
  await stopService(parts, { drainTimeoutMs: 0, onLate: (step) => late.push(step) });
  return { done, late };
}

describe("a stop", () => {
  test("leaves the registry and releases the lock when everything has stopped", async () => {
    const { done, late } = await stopped();
    expect(late).toEqual([]);
    expect(done.slice(-3)).toEqual(["leave", "store", "lock"]);
  });

  test.each(["quota", "verification", "readModels"])(
    "stops the other jobs if %s hangs, and keeps its place in the registry and the lock",
    async (job) => {
      const { done, late } = await stopped([job]);
      expect(late).toEqual(["background jobs"]);
      expect(done).toEqual(
        expect.arrayContaining(["quota", "verification", "rebuild", "readModels", "store"]),
      );
      expect(done).not.toContain("leave");
      expect(done).not.toContain("lock");
    },
  );
});
