import { afterEach, beforeEach, expect, test } from "bun:test";
import { AuditSealer } from "../../../src/commands/audit/auditSealer.ts";
import { eraseEmail } from "../../../src/commands/erasure/eraseEmailContent.ts";
import { eraseSuppressedAddress } from "../../../src/commands/erasure/eraseSuppressedAddress.ts";
import {
  noteErasureApplied,
  readErasure,
  requestPersonErasure,
} from "../../../src/commands/erasure/erasureRequests.ts";
import { addSuppression } from "../../../src/commands/suppression/addOrRemoveSuppression.ts";
import type { EventStore, LogBatch } from "../../../src/ports/eventStore.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";
import { addressOf } from "../../support/addressOf.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";
import { verifyWholeLog } from "../../support/verifyWholeLog.ts";
import { beginLog, emptyStore, exportOf, importOf } from "./portableLog.ts";

let log: EventStore;
let world: DeliveryWorld;
beforeEach(async () => {
  log = memoryEventStore({ batchEventsMax: 1 });
  await beginLog(log);
  world = await deliveryWorld(log);
});
afterEach(() => world.close());

const context = () => {
  const { workspaceId } = world;
  return { at: world.clock.now(), correlationId: "test", actor: "cli", workspaceId };
};

/** Exports the log, runs `work` after the first or last batch, and returns the imported result. */
async function importWithWork(moment: "first" | "last", work: () => Promise<unknown>) {
  let isDone = false;
  async function* readAll(...call: Parameters<EventStore["readAll"]>): AsyncIterable<LogBatch> {
    for await (const batch of log.readAll(...call)) {
      yield batch;
      if (isDone || (moment === "last" && !batch.caughtUp)) continue;
      isDone = true;
      await work();
    }
  }
  const { lines } = await exportOf({ ...log, readAll });
  const imported = emptyStore();
  await importOf(imported.store, lines);
  return imported;
}

test("what is erased while an export reads is missing in it for a reason that it holds", async () => {
  const id = await world.accept("order-1");
  const erase = () => eraseEmail(world.deps, id, { reason: "requested" }, context());
  const { store, remove } = await importWithWork("first", erase);
  expect((await verifyWholeLog(store)).shown).toEqual([]);
  await remove();
});

test("a person who is erased while an export reads is to be erased where it is imported", async () => {
  const address = addressOf("ana@example.org");
  await addSuppression(world.deps, { address, note: null }, context());
  const recipientHash = world.deps.keys.hashAddress(world.workspaceId, address.canonical);
  const requests: string[] = [];
  const { store, remove } = await importWithWork("last", async () => {
    const id = await requestPersonErasure(world.deps, address, context());
    await eraseSuppressedAddress(log, recipientHash, id, context());
    await noteErasureApplied(
      log,
      id,
      {
        ...{ messagesErased: 0, messagesCanceled: 0, messagesErasedBefore: 0, messagesWithFiles: 0 },
        ...{ outboxMessages: 0, uploadsErased: 0, uploadsKept: [], suppressionsErased: 1 },
      },
      context(),
    );
    const sealer = new AuditSealer({ store: log, clock: world.clock, signingKey: null, actor: "test" });
    await sealer.readOn(async () => {});
    await sealer.seal();
    requests.push(id);
  });
  const [id = ""] = requests;
  expect((await readErasure(log, id))?.erasure.status).toBe("applied");
  expect((await readErasure(store, id))?.erasure.status).toBe("requested");
  expect((await verifyWholeLog(store)).shown).toEqual([]);
  await remove();
});
