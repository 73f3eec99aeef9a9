import { afterEach, expect, test } from "bun:test";
import { toNewEvents } from "../../../src/commands/transact.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { webhookDeliveryId } from "../../../src/kernel/ids.ts";
import { acceptance } from "../../support/emailHistories.ts";
import { type WebhookTestWorld, webhookTestWorld } from "./webhookFixtures.ts";

const DELIVERED = ["WebhookAttemptStarted", "WebhookDelivered"] as const;

let world: WebhookTestWorld;
afterEach(() => world.close());

/** Accepts a message, and how often its stream is read until endpoints that include this have its event. */
async function readsFor(...includes: readonly (readonly string[])[]): Promise<number> {
  world = webhookTestWorld();
  const endpoints: string[] = [];
  for (const [nth, include] of includes.entries()) {
    const id = await world.register(`endpoint-${nth}`, ["email.queued"]);
    await world.update(id, { include: [...include] });
    endpoints.push(id);
  }
  const stream = emailStream(crypto.randomUUID());
  const { workspaceId, clock } = world;
  const context = { at: clock.now(), correlationId: "test", actor: "test", workspaceId };
  const events = toNewEvents(acceptance({ workspaceId, at: clock.now() }), context);
  await world.store.append(stream, events, "noStream");
  let reads = 0;
  world.store.beforeRead = (read) => {
    if (read === stream) reads += 1;
  };
  await world.start();
  for (const id of endpoints)
    await world.untilEvents(webhookDeliveryId(events[1]?.id ?? "", id), ...DELIVERED);
  return reads;
}

test("a message is read once for its event, whatever the endpoints include", async () => {
  expect(await readsFor([])).toBe(1);
  await world.close();
  expect(await readsFor(["from", "to", "subject"])).toBe(1);
  await world.close();
  expect(await readsFor([], ["to"], ["subject"])).toBe(1);
});
