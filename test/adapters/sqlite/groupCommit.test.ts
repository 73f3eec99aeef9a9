import { expect, test } from "bun:test";
import type { TransactionOutcome } from "../../../src/adapters/sqlite/append/appendTransaction.ts";
import { GroupCommit } from "../../../src/adapters/sqlite/append/groupCommit.ts";
import type { AppendResult } from "../../../src/ports/eventStore.ts";

const APPENDED = { outcome: "appended", revision: 0 } as AppendResult;

test("a transaction whose writer throws is retried as one that may already be in the log", async () => {
  let commits = 0;
  const writer = {
    commit: async (): Promise<TransactionOutcome> => {
      commits += 1;
      if (commits === 1) throw new Error("no thread can be started");
      return { kind: "committed", results: [APPENDED], hasWritten: true };
    },
    close: async () => {},
  };
  const group = new GroupCommit(
    writer,
    () => {},
    () => {},
  );
  const { promise, resolve, reject } = Promise.withResolvers<AppendResult>();
  const deadline = performance.now() + 2_000;
  const append = { stream: "one", events: [], expected: "noStream", bytes: 0, deadline } as const;
  group.add({ ...append, resolve, reject, uncertain: false });
  expect(await promise).toEqual(APPENDED);
  expect(commits).toBe(2);
  await group.close();
});

test("an append that misses its deadline reports SQLite's last error", async () => {
  const full: TransactionOutcome = {
    kind: "failed",
    isUncertain: false,
    isDamage: false,
    reason: "database or disk is full",
  };
  const group = new GroupCommit(
    { commit: async () => full, close: async () => {} },
    () => {},
    () => {},
  );
  const { promise, resolve, reject } = Promise.withResolvers<AppendResult>();
  const deadline = performance.now() + 20;
  const append = { stream: "one", events: [], expected: "noStream", bytes: 0, deadline } as const;
  group.add({ ...append, resolve, reject, uncertain: false });
  const refusal = await promise.catch((error: Error) => error);
  expect(refusal).toMatchObject({
    message: "the log was failing (database or disk is full) past the deadline",
  });
  await group.close();
});
