import { afterEach, beforeEach, expect, test } from "bun:test";
import { emails } from "../../projections/emails/emails.ts";
import { markVerified, newSender } from "../../src/commands/sender/manageSender.ts";
import { newWorkspace } from "../../src/commands/workspace/manageWorkspace.ts";
import { DAY_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { MESSAGES_DUE_MAX, messagesDue } from "../../src/service/status/messagesDue.ts";
import { type DeliveryWorld, deliveryWorld } from "../reactors/email/deliveryFixtures.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

let world: DeliveryWorld;
let db: ReadDatabaseFile;
let domain: string;
beforeEach(async () => {
  world = await deliveryWorld();
  db = emptyReadModel(emails);
  domain = await world.addDomain("bulk.example");
});
afterEach(async () => {
  db.close();
  await world.close();
});

interface Accepted {
  readonly workspaceId?: string;
  readonly authorityId?: string;
  readonly senderOf?: (number: number) => string;
  readonly scheduledAt?: string;
}

/** Messages that wait, each from an address of its own in the domain unless told otherwise. */
function accept(count: number, { senderOf = (number) => `s${number}`, ...given }: Accepted = {}): void {
  db.begin();
  for (let number = 0; number < count; number += 1) {
    const facts = {
      recipientHash: "h",
      fingerprint: "f",
      contentEventId: "c",
      contentDigest: "d",
      contentBytes: 1,
    };
    const whose = { workspaceId: world.workspaceId, authorityId: domain, senderId: senderOf(number) };
    const data = { ...facts, ...whose, acceptedAt: rfc3339(world.clock.now()), ...given };
    const id = crypto.randomUUID();
    const type = given.scheduledAt === undefined ? "EmailQueued" : "EmailScheduled";
    emails.apply({ stream: `email-${id}`, revision: 1, id, type, data, metadata: {} }, db);
  }
  db.commit();
}

const found = () => messagesDue(world.deps, { reader: () => db });
const due = async () => (await found())?.count ?? null;

test("mail that many senders have scheduled hides nothing that is due", async () => {
  accept(1_100, { scheduledAt: rfc3339(world.clock.now() + DAY_MS) });
  accept(3, { senderOf: () => "z" });
  expect(await due()).toBe(3);
  world.pass(DAY_MS);
  accept(1, { senderOf: () => "z" });
  // Now more senders have mail due than are looked at: a low number would hide the rest.
  expect(await due()).toBeNull();
});

test("mail that a pause holds hides nothing that is due, however much it is", async () => {
  const context = { at: world.clock.now(), correlationId: "t", actor: "t" };
  const workspaceId = await newWorkspace(world.deps, "other", context);
  const name = { kind: "domain", domain: "other.example" } as const;
  const own = { ...context, workspaceId };
  const authorityId = (await newSender(world.deps, { workspaceId, name }, own))?.id ?? "";
  await markVerified(world.deps, authorityId, "operator", own);
  accept(MESSAGES_DUE_MAX + 1);
  accept(3, { workspaceId, authorityId });
  expect(await due()).toBeNull();
  await world.pause();
  expect(await due()).toBe(3);
});

test("the message that has been due longest is named by its workspace, also among more than are counted", async () => {
  const since = world.clock.now();
  accept(1, { senderOf: () => "z" });
  world.pass(1_000);
  accept(2);
  const oldest = { since, workspaceId: world.workspaceId };
  expect(await found()).toEqual({ count: 3, oldest });
  accept(MESSAGES_DUE_MAX, { senderOf: () => "a" });
  expect(await found()).toEqual({ count: MESSAGES_DUE_MAX, oldest });
});

test("no more than 10,000 messages are counted", async () => {
  accept(MESSAGES_DUE_MAX + 1, { senderOf: (number) => `s${number % 10}` });
  expect(await due()).toBe(MESSAGES_DUE_MAX);
  await world.setSender("SenderDisabled", domain);
  expect(await due()).toBe(0);
});
