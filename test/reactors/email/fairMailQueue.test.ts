import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { emails } from "../../../projections/emails/emails.ts";
import {
  agedEmailsOf,
  allDueAt,
  nextOwnerByAge,
  nextReadyAt,
  waitingEmails,
} from "../../../projections/emails/mailQueue.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { markVerified, newSender } from "../../../src/commands/sender/manageSender.ts";
import { newWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import { type EpochMs, HOUR_MS, rfc3339, SECOND_MS } from "../../../src/kernel/time.ts";
import { CONTENT_STORE, FairMailQueue, LOOK_STEPS_MAX } from "../../../src/reactors/email/fairMailQueue.ts";
import { addressOf } from "../../support/addressOf.ts";
import { type CountedReads, countedReads } from "../../support/stores/countedReads.ts";
import { until } from "../../support/until.ts";
import { type DeliveryWorld, deliveryWorld } from "./deliveryFixtures.ts";

const START = Date.parse("2030-01-01T12:00:00Z");
const NOW = START + HOUR_MS;
const LIMIT = 512;
const BACKLOG = 20_000;
/** Messages that are really accepted, which costs each a millisecond: more than some looks show. */
const SENT_BACKLOG = 2_000;
/** What one look reads at most: its steps, what it shows or passes over, and whether there is more than that. */
const ROWS_MAX = LOOK_STEPS_MAX + 3 * LIMIT;

const READS_MAX = 200;

let db: CountedReads;
beforeEach(() => {
  db = countedReads(emails);
});
afterEach(() => db.close());

interface Waiting {
  readonly workspace: string;
  readonly sender?: string;
  readonly domain?: string;
  readonly at?: EpochMs;
  readonly hasFile?: boolean;
}

let accepted = 0;

function accept({
  workspace,
  sender = `${workspace}1`,
  domain = sender,
  at = START,
  hasFile = false,
}: Waiting): string {
  accepted += 1;
  const id = `m${accepted}`;
  const facts = {
    recipientHash: "h",
    fingerprint: "f",
    contentEventId: "c",
    contentDigest: "d",
    contentBytes: 1,
  };
  const data = {
    ...facts,
    workspaceId: workspace,
    senderId: sender,
    authorityId: domain,
    acceptedAt: rfc3339(at),
    ...(hasFile ? { attachmentBytes: 1 } : {}),
  };
  emails.apply({ stream: `email-${id}`, revision: 1, id, type: "EmailQueued", data, metadata: {} }, db);
  return id;
}

function acceptMany(count: number, waiting: (number: number) => Waiting): void {
  for (let number = 0; number < count; number += 1) accept(waiting(number));
}

/** Looks until the message is shown, and answers how many looks that took; each reads a bounded number of rows. */
function readsUntil(id: string, without: readonly string[], rowsMax = ROWS_MAX): number {
  const queue = new FairMailQueue("relay");
  for (let reads = 1; reads <= READS_MAX; reads += 1) {
    db.rowsScanned = 0;
    const { items, more } = queue.look(db, { now: NOW, without: new Set(without), limit: LIMIT });
    expect(db.rowsScanned).toBeLessThanOrEqual(rowsMax);
    if (items.some((item) => item.id === id)) return reads;
    expect(more).not.toBe("none");
  }
  throw new Error(`not shown in ${READS_MAX} looks`);
}

describe("one message behind 20,000 of another workspace is found by the first query", () => {
  const readsNeeded = (without: readonly string[], waiting: (number: number) => Waiting) => {
    acceptMany(BACKLOG, waiting);
    return readsUntil(accept({ workspace: "b" }), without);
  };

  test("while that workspace is paused", () => {
    expect(readsNeeded(["a"], () => ({ workspace: "a" }))).toBe(1);
  });

  test("while its sender is disabled", () => {
    expect(readsNeeded(["a1"], () => ({ workspace: "a" }))).toBe(1);
  });

  test("while its domain is disabled, from however many addresses it sends", () => {
    expect(readsNeeded(["d"], (n) => ({ workspace: "a", sender: `s${n}`, domain: "d" }))).toBe(1);
  });

  test("while the content store, which has their files, is in trouble", () => {
    expect(readsNeeded([CONTENT_STORE], () => ({ workspace: "a", hasFile: true }))).toBe(1);
  });

  test("while all of them may be sent", () => {
    expect(readsNeeded([], () => ({ workspace: "a" }))).toBe(1);
  });

  test("while all of them may be sent, each from its own address", () => {
    expect(readsNeeded([], (n) => ({ workspace: "a", sender: `s${n}` }))).toBe(1);
  });
});

describe("nothing starves", () => {
  test("behind as many disabled addresses of its own workspace", () => {
    acceptMany(BACKLOG, (n) => ({ workspace: "a", sender: `s${n}` }));
    const without = Array.from({ length: BACKLOG }, (_, n) => `s${n}`);
    const id = accept({ workspace: "a", sender: "z" });
    expect(readsUntil(id, without)).toBeLessThanOrEqual(Math.ceil((BACKLOG + 1) / (LOOK_STEPS_MAX - 2)) + 1);
  });

  test("behind messages of its own sender that wait for the content store", () => {
    acceptMany(BACKLOG, () => ({ workspace: "a", hasFile: true }));
    expect(readsUntil(accept({ workspace: "a" }), [CONTENT_STORE])).toBe(1);
  });

  test("behind as many workspaces", () => {
    acceptMany(BACKLOG, (n) => ({ workspace: `w${n}` }));
    const without = Array.from({ length: BACKLOG }, (_, n) => `w${n}`);
    const id = accept({ workspace: "x" });
    expect(readsUntil(id, without)).toBeLessThanOrEqual(Math.ceil((BACKLOG + 1) / (LOOK_STEPS_MAX - 1)) + 1);
  });

  test("behind messages of its own sender that are excluded one by one", () => {
    const backingOff = Array.from({ length: 300 }, () => accept({ workspace: "a" }));
    acceptMany(BACKLOG, () => ({ workspace: "a", sender: "other" }));
    const id = accept({ workspace: "a" });
    expect(readsUntil(id, [...backingOff, "other"], ROWS_MAX + 3 * backingOff.length)).toBe(1);
  });

  test("every workspace gets its share of a page, and a single one the whole page", () => {
    acceptMany(BACKLOG, (n) => ({ workspace: n % 10 === 0 ? "b" : "a" }));
    const readReady = (without: readonly string[]) =>
      new FairMailQueue("relay").look(db, { now: NOW, without: new Set(without), limit: LIMIT });
    const both = readReady([]);
    expect(both.items.filter(({ workspaceId }) => workspaceId === "b")).toHaveLength(LIMIT / 2);
    const onlyA = readReady(["a"]);
    expect(onlyA.items).toHaveLength(LIMIT);
    expect(onlyA.more).toBe("afterThese");
    expect(new Set(onlyA.items.map(({ id }) => id)).size).toBe(LIMIT);
  });
});

test("pages of waiting mail are read without examining the rows before them", () => {
  acceptMany(BACKLOG, (n) => ({ workspace: "a", at: START + n }));
  const page = waitingEmails(db, allDueAt(START + BACKLOG / 2), 100);
  expect(page.map(({ dueAt }) => dueAt - START - BACKLOG / 2)).toEqual(
    Array.from({ length: 100 }, (_, n) => n + 1),
  );
  expect(db.rowsScanned).toBeLessThanOrEqual(102);
});

test("the time when the next message becomes ready is read from one row, whatever is ready", () => {
  acceptMany(BACKLOG, () => ({ workspace: "a" }));
  accept({ workspace: "b", at: NOW + SECOND_MS });
  expect(nextReadyAt(db, "relay", NOW)).toBe(NOW + SECOND_MS);
  expect(db.rowsScanned).toBe(1);
});

/** Creates a second workspace. Returns a function that sends from it. */
async function otherWorkspace({ deps, clock }: DeliveryWorld) {
  const resumeContext = { at: clock.now(), correlationId: "t", actor: "t" };
  const workspaceId = await newWorkspace(deps, "other", resumeContext);
  const context = { ...resumeContext, workspaceId };
  const from = addressOf("other@example.net");
  const name = { kind: "address", address: from } as const;
  const sender = await newSender(deps, { workspaceId, name }, context);
  await markVerified(deps, sender?.id ?? "", "operator", context);
  return async (key: string): Promise<string> => {
    const result = await sendEmail(deps, {
      workspaceId,
      idempotencyKey: key,
      comparable: { key },
      from,
      to: addressOf("ana@example.org"),
      content: { from: from.sent, to: "ana@example.org", subject: "Hello", text: "Hello" },
      template: null,
      attachments: [],
      context,
    });
    if (result.kind !== "accepted") throw new Error(result.kind);
    return result.receipt.id;
  };
}

async function acceptAll(world: DeliveryWorld, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => world.accept(`order-${at + index}`)));
  }
}

test("overdue mail is found workspace by workspace, however much each has", () => {
  acceptMany(BACKLOG, (n) => ({ workspace: n % 2 === 0 ? "a" : "b", at: START + n }));
  expect(nextOwnerByAge(db, "a")).toEqual({ ownerId: "b", acceptedAt: START + 1 });
  expect(nextOwnerByAge(db, "b")).toBeNull();
  expect(agedEmailsOf(db, "b", NOW, 100)).toHaveLength(100);
  expect(db.rowsScanned).toBe(101);
});

describe("beside the messages of a paused workspace", () => {
  let world: DeliveryWorld;
  beforeEach(async () => {
    world = await deliveryWorld();
  });
  afterEach(() => world.close());

  test("another's mail is delivered, and its own when it goes on", async () => {
    await acceptAll(world, SENT_BACKLOG);
    await world.pause();
    const send = await otherWorkspace(world);
    const instance = await world.start({ sessionsMax: 4 });
    for (let nth = 1; nth <= 3; nth += 1) {
      await send(`other-${nth}`);
      await until(() => world.relay.sent.length === nth, "the other workspace's mail to be sent");
    }
    expect(world.relay.sent.every(({ message }) => message.from === "other@example.net")).toBe(true);
    await world.unpause();
    world.pass(2 * SECOND_MS);
    await until(() => world.relay.sent.length > 50, "the paused workspace's mail to resume");
    expect(instance.failures).toEqual([]);
  }, 60_000);

  test("another's mail expires in time, even without a relay", async () => {
    await acceptAll(world, SENT_BACKLOG);
    await world.pause();
    const id = await (await otherWorkspace(world))("other-1");
    world.relay.refuse = () => "connection refused";
    world.clock.advance(DELIVERY_POLICY.lifetimeMs + HOUR_MS);
    world.freeBytes = 0;
    await world.start();
    await world.untilEvents(id, "EmailFailed");
  });
});
