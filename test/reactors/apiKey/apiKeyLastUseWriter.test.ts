import { expect, test } from "bun:test";
import { apiKeyLastUse } from "../../../src/commands/apiKey/apiKeyLastUse.ts";
import { nextTurn } from "../../../src/kernel/concurrency/sleep.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import { apiKeyLastUseWriter } from "../../../src/reactors/apiKey/apiKeyLastUseWriter.ts";

/** A writer that has two keys to write, and what it has asked its store to append. */
function writerFor(append: () => Promise<void>) {
  const appended: string[] = [];
  const store = {
    lastRevision: async () => null,
    append: (stream: string) => {
      appended.push(stream);
      return append();
    },
  } as unknown as EventStore;
  const lastUse = apiKeyLastUse(store);
  for (const keyId of ["first", "second"]) lastUse.note(keyId, 0);
  const writer = apiKeyLastUseWriter({ apiKeyLastUse: lastUse, worker: "w", onTrouble: () => {} });
  return { writer, appended };
}

test("a stop records the last uses of all keys", async () => {
  const { writer, appended } = writerFor(async () => {});
  await writer.stop();
  expect(appended).toHaveLength(2);
});

test("a stop does not wait for a store that does not answer, and appends nothing once it has ended", async () => {
  const answer = Promise.withResolvers<void>();
  const { writer, appended } = writerFor(() => answer.promise);
  await writer.stop();
  expect(appended).toHaveLength(1);
  answer.resolve();
  await nextTurn();
  expect(appended).toHaveLength(1);
});
