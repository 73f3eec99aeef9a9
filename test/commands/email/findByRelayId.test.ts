import { expect, test } from "bun:test";
import { findByRelayId } from "../../../src/commands/email/feedback/findByRelayId.ts";
import { ACCEPTANCE_REVISION } from "../../../src/domain/email/events.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";

test("a search for a relay's id reads no content, which may be a megabyte for each of fifty messages", async () => {
  const from: number[] = [];
  const store = {
    async read(_: string, revision: number) {
      from.push(revision);
      return [];
    },
  };
  const ids = Array.from({ length: 50 }, () => crypto.randomUUID());
  expect(await findByRelayId(store as unknown as EventStore, ids, "0102")).toBeNull();
  expect(from).toEqual(Array(50).fill(ACCEPTANCE_REVISION));
});
