import { describe, expect, test } from "bun:test";
import { StoreError } from "../../src/ports/eventStore.ts";
import { stopService } from "../../src/service/stopService.ts";

type Parts = Parameters<typeof stopService>[0];

/** Stops parts that note what is done to them. Those in `hanging` never finish stopping, and `failing` ones throw. */
async function stopped(hanging: readonly string[] = [], failing: readonly string[] = []) {
  const done: string[] = [];
  const late: string[] = [];
  const note = async (name: string): Promise<void> => {
    done.push(name);
    if (hanging.includes(name)) await new Promise(() => {});
    if (failing.includes(name)) throw new Error(`${name} failed`);
  };
  const stopping = (name: string) => ({ stop: () => note(name) });
  const parts = {
    listeners: { ...stopping("listeners"), refuseArriving: () => {}, kill: () => note("kill") },
    deps: { htmlToText: { close: () => note("htmlToText") } },
    store: {
      head: async () => {
        if (failing.includes("log")) throw new StoreError("unavailable", "away");
      },
      close: () => note("store"),
    },
    lock: { release: () => void note("lock") },
    control: { close: () => note("control") },
    dashboard: stopping("dashboard"),
    freezeWatch: stopping("freezeWatch"),
    maintenance: [stopping("verification"), stopping("rebuild")],
    readModels: stopping("readModels"),
    readers: { close: () => note("readers") },
    stopWorkers: () => note("workers"),
    stopQuota: () => note("quota"),
    isIdle: () => true,
    leave: () => note("leave"),
  } as unknown as Parts;
  const options = {
    drainTimeoutMs: failing.length > 0 ? 60_000 : 0,
    onLate: (step: string) => late.push(step),
  };
  const error = await stopService(parts, options).catch(({ message }: Error) => message);
  return { done, late, error };
}

describe("a stop", () => {
  test("leaves the registry and releases the lock when everything has stopped", async () => {
    const { done, late } = await stopped();
    expect(late).toEqual([]);
    expect(done.slice(-4)).toEqual(["leave", "readers", "store", "lock"]);
  });

  const STOPPED = [
    ...["control", "dashboard", "listeners", "workers", "freezeWatch", "htmlToText", "quota"],
    ...["verification", "rebuild", "readModels", "readers", "store"],
  ];
  test.each([...STOPPED, "leave"])("runs every step if %s fails, and says why it did", async (failing) => {
    const { done, late, error } = await stopped([], [failing, "store"]);
    expect({ late, error }).toEqual({ late: [], error: `${failing} failed` });
    expect(done).toEqual(expect.arrayContaining(STOPPED));
    expect(done).not.toContain("lock");
  });

  test("appends nothing to a log that does not answer, and stops everything", async () => {
    const { done, late, error } = await stopped([], ["log"]);
    expect({ late, error }).toEqual({ late: ["log"], error: undefined });
    expect(done).toEqual(expect.arrayContaining([...STOPPED.filter((part) => part !== "quota"), "lock"]));
    expect(done).not.toContain("quota");
    expect(done).not.toContain("leave");
  });

  test("does not wait long for a job that waits for such a log, and keeps the lock, because it may still write", async () => {
    const { done, late } = await stopped(["verification"], ["log"]);
    expect(late).toEqual(["log"]);
    expect(done).toEqual(expect.arrayContaining(["rebuild", "readModels", "readers", "store"]));
    expect(done).not.toContain("lock");
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
