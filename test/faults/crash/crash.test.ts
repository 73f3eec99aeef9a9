import { expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { writingThreadsFor } from "../../../src/adapters/sqlite/append/openLogWriter.ts";
import { canStartEventStoreDb } from "../../support/stores/eventstoredb.ts";
import { type CrashOptions, runCrash } from "./crashRun.ts";
import { UNFLUSHED } from "./plants.ts";
import { checkSyncs, parseTrace, whyNoTracer } from "./syncWatch.ts";

/** A run that needs longer than this hangs. */
const RUN_MS_MAX = 240_000;

const SHORT: CrashOptions = { store: "sqlite", kills: 0, startKills: 0, sigterms: 0, terminalMsMax: 90_000 };
/** A lease longer than a start takes on a busy machine. */
const LONG_LEASE_MS = 20_000;
/** The service's threads differ by the machine. */
const unflushed = UNFLUSHED[writingThreadsFor(availableParallelism())];
const noTracer = await whyNoTracer();

test(
  "kill -9 in every window loses nothing and repeats nothing undeclared; SIGTERM repeats nothing",
  async () => {
    const report = await runCrash({ ...SHORT, kills: 6, startKills: 1, sigterms: 1 });
    expect(report.problems).toEqual([]);
    expect(report.killsIn).toEqual({ accept: 2, "claim to final dot": 2, "final dot to outcome": 2 });
    expect(report.lost).toBe(0);
    expect(report.accepted).toBeGreaterThan(50);
    expect(report.duplicated).toBeLessThanOrEqual(report.ambiguous);
  },
  RUN_MS_MAX,
);

test.skipIf(!canStartEventStoreDb)(
  "kill -9 loses nothing on an EventStoreDB with TLS and a user",
  async () => {
    const report = await runCrash({ ...SHORT, store: "eventstoredb-tls", kills: 2 });
    expect(report.problems).toEqual([]);
    expect(report.lost).toBe(0);
    expect(report.accepted).toBeGreaterThan(20);
  },
  RUN_MS_MAX,
);

test.skipIf(noTracer !== null)(
  `a log that does not wait for the disk is detected${noTracer === null ? "" : ` (skipped: ${noTracer})`}`,
  async () => {
    const report = await runCrash({ ...SHORT, plant: unflushed });
    expect(report.problems).toContain(
      "the 202 number 1 was sent without an fdatasync or fsync of the log after it was written",
    );
  },
  RUN_MS_MAX,
);

test(
  "delivery without a claim is detected",
  async () => {
    const windows = ["final dot to outcome"] as const;
    const report = await runCrash({ ...SHORT, kills: 2, windows, plant: "no-claim" });
    expect(report.problems.filter((problem) => problem.endsWith("1 times on 0 claims"))).not.toEqual([]);
    expect(report.problems).toContain(`${report.duplicated} duplicated, but 0 declared ambiguous`);
  },
  RUN_MS_MAX,
);

test(
  "claims that never expire are detected",
  async () => {
    const windows = ["claim to final dot"] as const;
    const report = await runCrash({ ...SHORT, kills: 1, windows, terminalMsMax: 8_000, plant: "no-lease" });
    expect(report.lost).toBeGreaterThan(0);
    expect(report.problems.join("\n")).toContain("is still sending");
  },
  RUN_MS_MAX,
);

test(
  "claims taken over before they expire are detected",
  async () => {
    // Every other process knows that the previous one has died, and need not wait.
    const windows = ["claim to final dot"] as const;
    const report = await runCrash({
      ...SHORT,
      kills: 2,
      windows,
      leaseMs: LONG_LEASE_MS,
      plant: "ignored-lease",
    });
    expect(report.problems.join("\n")).toContain("before the lease of");
  },
  RUN_MS_MAX,
);

test(
  "a SIGTERM that does not drain is detected",
  async () => {
    // On a busy machine a signal may find nothing in flight.
    const report = await runCrash({ ...SHORT, sigterms: 3, plant: "no-drain" });
    expect(report.problems.join("\n")).toContain("on a claim of a process that ended by SIGTERM");
  },
  RUN_MS_MAX,
);

test("a sync counts only after the last write of the log and before the answer, whatever thread it ran on", () => {
  const request =
    '10 recvfrom(40<socket:[1]>, "POST /api/v1/emails HTTP/1.1"..., 524288, 0, NULL, NULL) = 340';
  const write = '10 pwrite64(9</d/events.db-wal>, "\\0"..., 4096, 0) = 4096';
  const unfinished = "11 fdatasync(9</d/events.db-wal> <unfinished ...>";
  const resumed = "11 <... fdatasync resumed>)          = 0";
  const answer = '10 sendto(40<socket:[1]>, "HTTP/1.1 202 Accepted\\r\\n"..., 348, 0, NULL, 0) = 348';
  const problems = (...trace: string[]) => checkSyncs(parseTrace(trace.join("\n"))).problems.length;
  expect(problems(request, write, unfinished, resumed, answer)).toBe(0);
  expect(problems(request, write, unfinished, answer, resumed)).toBe(1);
  expect(problems(request, unfinished, write, resumed, answer)).toBe(1);
  expect(problems(request, unfinished, resumed, answer)).toBe(1);
  expect(problems(request, write, "11 fsync(9</d/events.db-wal>) = -1 EIO (error)", answer)).toBe(1);
  expect(problems(request, write, "11 fsync(9</d/emails.1.1.db-wal>) = 0", answer)).toBe(1);
  expect(problems(write, unfinished, resumed, request, answer)).toBe(1);
});
