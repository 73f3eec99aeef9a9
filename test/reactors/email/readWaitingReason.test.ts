import { expect, test } from "bun:test";
import { readEmail } from "../../../src/commands/email/readEmail.ts";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import { rfc3339 } from "../../../src/kernel/time.ts";
import type { ReadDatabase } from "../../../src/ports/readDatabase.ts";
import { readWaitingReason } from "../../../src/reactors/email/readWaitingReason.ts";
import { stub } from "../../support/stub.ts";
import { appendForeign, deliveryWorld } from "./deliveryFixtures.ts";

test("mail that the relay may have waits for the operator where it is held, but simulated mail does not", async () => {
  const world = await deliveryWorld();
  const read = readWaitingReason({
    deps: world.deps,
    // Read only while mail is held after a restoration.
    emails: stub() as ReadDatabase,
    policy: { ...DELIVERY_POLICY, onAmbiguous: "hold" },
    delivers: true,
    hasRoom: () => true,
    relay: () => null,
    contentStore: () => null,
  });
  const leaseExpired = {
    attempt: 1,
    reason: "lease_expired",
    attemptBurnt: true,
    ambiguous: true,
    nextAttemptAt: rfc3339(world.clock.now()),
  };
  const reasonFor = async (to: string) => {
    const id = await world.accept(to, { to });
    const claim = { attempt: 1, worker: "dead", leaseMs: 1_000, transport: "smtp" };
    await appendForeign(world, id, { type: "EmailDeliveryStarted", data: claim });
    await appendForeign(world, id, { type: "EmailDeferred", data: leaseExpired });
    const view = await readEmail(world.deps, { workspaceId: world.workspaceId, isTest: false }, id);
    return view === null ? null : (await read(view))?.reason;
  };
  expect(await reasonFor("ana@example.org")).toBe("delivery_unknown");
  expect(await reasonFor("delivered@simulator.test")).toBe("in_queue");
  await world.close();
});
