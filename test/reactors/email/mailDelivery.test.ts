import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { suppressionAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { readEmail } from "../../../src/commands/email/readEmail.ts";
import { resumeEmail } from "../../../src/commands/email/resumeEmail.ts";
import { suppressRecipient } from "../../../src/commands/suppression/suppressRecipient.ts";
import { load } from "../../../src/commands/transact.ts";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { suppressionStream } from "../../../src/domain/suppression/events.ts";
import type { MailOutcome } from "../../../src/kernel/outcome/mailOutcome.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { leftMs } from "../../../src/ports/clock.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { CircuitBreaker } from "../../../src/reactors/circuitBreaker/circuitBreaker.ts";
import { RelayOutageReports } from "../../../src/reactors/email/relayOutageReports.ts";
import { SETTLING_MS } from "../../../src/reactors/worker/jumpProofTime.ts";
import { until } from "../../support/until.ts";
import {
  ACCEPTED,
  appendForeign,
  type DeliveryWorld,
  deliveryWorld,
  failAfterAppendOnce,
  refused,
  writeLateOnce,
} from "./deliveryFixtures.ts";

const LEASE_MS = DELIVERY_POLICY.leaseMs;
const LIFE_MS = 72 * HOUR_MS;

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

/** A promise that a test settles when it likes. */
function gate<Value>() {
  return Promise.withResolvers<Value>();
}

/** Lets time pass without waking the workers, which rest for a quarter of a second at a time. */
async function quietTime(ms: number): Promise<void> {
  const end = performance.now() + ms;
  await until(() => performance.now() > end);
}

const lastEvent = async (id: string) => (await world.events(id)).at(-1) as EmailEvent;
/** The last event as `readEmail` returns it: sealed fields can be read while the content is there. */
const lastReadableData = async (id: string) =>
  (await readEmail(world.deps, { workspaceId: world.workspaceId, isTest: false }, id))?.events.at(-1)?.event
    .data;
const unavailable = () => new StoreError("unavailable", "the store is unavailable");

describe("a message", () => {
  test("is delivered once, as it was accepted", async () => {
    const id = await world.accept("order-1001");
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    expect(world.relay.sent).toHaveLength(1);
    expect(world.relay.sent[0]?.message).toEqual({
      id,
      messageId: `<${id}@example.com>`,
      date: world.clock.now(),
      from: "shop@example.com",
      to: "ana@example.org",
      subject: "Hello",
      text: "order-1001",
    });
    const [, , started, sent] = await world.events(id);
    expect(started?.data).toEqual({ attempt: 1, worker: "w1", leaseMs: LEASE_MS, transport: "smtp" });
    const sealedReply = expect.any(String);
    expect(sent?.data).toEqual({ attempt: 1, transport: "smtp", reply: "250 2.0.0", sealedReply });
    expect(await lastReadableData(id)).toMatchObject({ reply: "250 2.0.0 queued" });
    world.pass(LEASE_MS);
    world.pass(LIFE_MS);
    await instance.caughtUp();
    await world.settle();
    expect(world.relay.sent).toHaveLength(1);
    expect(instance.failures).toEqual([]);
  });

  test("that is sent at last is observed once, with the time since it was due", async () => {
    const dueAt = world.clock.now() + DAY_MS;
    const id = await world.accept("order-1001", { scheduledAt: dueAt });
    world.relay.answer = (_, nth) => (nth === 1 ? refused("rcpt", "450 4.2.0 busy") : ACCEPTED);
    const instance = await world.start();
    await instance.caughtUp();
    world.pass(DAY_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await instance.caughtUp();
    await world.settle();
    expect(instance.sentAfterMs).toEqual([]);
    world.pass(5 * MINUTE_MS);
    const attempts = ["EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent"] as const;
    await world.untilEvents(id, ...attempts);
    await world.settle();
    expect(instance.sentAfterMs).toEqual([5 * MINUTE_MS]);
  });

  test("leaves the relay ten minutes for its answer (RFC 5321 §4.5.3.2.6), but far less for all before it", async () => {
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    const [{ deadlines } = {}] = world.relay.sent;
    if (deadlines === undefined) throw new Error("nothing was sent");
    expect(leftMs(world.clock, deadlines.reply)).toBeGreaterThan(10 * MINUTE_MS);
    expect(leftMs(world.clock, deadlines.handover)).toBe(2 * MINUTE_MS);
  });

  test("under a short lease has both deadlines before the lease ends", async () => {
    const id = await world.accept("order-1001");
    await world.start({ policy: { leaseMs: MINUTE_MS } });
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    const [{ deadlines } = {}] = world.relay.sent;
    expect(deadlines?.handover).toEqual(deadlines?.reply);
    expect(deadlines && leftMs(world.clock, deadlines.reply)).toBeLessThan(MINUTE_MS);
  });

  test("that is accepted while workers are idle is delivered at once", async () => {
    await world.start();
    const id = await world.accept("order-1001");
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("is delivered once, one of 200, by two instances with their own read models", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 200; index += 1) ids.push(await world.accept(`order-${index}`));
    await Promise.all([
      world.start({ worker: "w1", sessionsMax: 4 }),
      world.start({ worker: "w2", sessionsMax: 4 }),
    ]);
    await until(async () => {
      const states = await Promise.all(ids.map(world.state));
      return states.every(({ status }) => status === "sent");
    }, "all to be sent");
    expect(world.relay.sent.map(({ message }) => message.id).sort()).toEqual([...ids].sort());
    expect(new Set(world.relay.sent.map(({ worker }) => worker)).size).toBe(2);
  });

  test("is delivered once on SQLite too, while one instance ends in the middle", async () => {
    const directory = mkdtempSync(join(tmpdir(), "delivery-log-"));
    const onDisk = await deliveryWorld(
      openSqliteEventStore({ path: join(directory, "events.db"), timeoutMs: 5_000 }),
    );
    const ids = await Promise.all(Array.from({ length: 60 }, (_, index) => onDisk.accept(`order-${index}`)));
    const [first] = await Promise.all([onDisk.start({ worker: "w1" }), onDisk.start({ worker: "w2" })]);
    await until(() => onDisk.relay.sent.length > 15, "some to be sent");
    await first.stop();
    const isDone = async () =>
      (await Promise.all(ids.map(onDisk.state))).every(({ status }) => status === "sent");
    await until(isDone, "all to be sent");
    expect(onDisk.relay.sent.map(({ message }) => message.id).sort()).toEqual([...ids].sort());
    await onDisk.close();
    rmSync(directory, { recursive: true, force: true });
  });
});

describe("the relay's answer", () => {
  test("4xx: deferred, and retried at its time and not before", async () => {
    world.relay.answer = (_, nth) =>
      nth === 1 ? refused("rcpt", "450 4.2.0 busy, ana@example.org") : ACCEPTED;
    const id = await world.accept("order-1001");
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    expect((await lastEvent(id)).data).not.toHaveProperty("reply");
    expect(await lastReadableData(id)).toMatchObject({
      reason: "recipient_deferred",
      attemptBurnt: true,
      ambiguous: false,
      nextAttemptAt: new Date(world.clock.now() + MINUTE_MS).toISOString(),
      reply: "450 4.2.0 busy, <recipient>",
    });
    await instance.caughtUp();
    world.pass(MINUTE_MS - 1);
    await world.settle();
    expect(world.relay.sent).toHaveLength(1);
    world.pass(1);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
    const [first, second] = world.relay.sent;
    expect(second?.message).toEqual(first?.message as NonNullable<typeof first>["message"]);
  });

  test("a bad address: bounced and suppressed, without an address in the outcome", async () => {
    world.relay.answer = () => refused("rcpt", "550 5.1.1 <ANA@example.org> unknown to shop@example.com");
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailBounced");
    const facts = { code: 550, enhancedCode: "5.1.1" };
    const reply = "550 5.1.1 <recipient> unknown to <sender>";
    const reason = "recipient_address_rejected";
    expect((await lastEvent(id)).data).not.toHaveProperty("reply");
    expect(await lastReadableData(id)).toMatchObject({ ...facts, reason, reply });
    const { recipientHash } = await world.state(id);
    const { state } = await load(world.store, suppressionAggregate.of(recipientHash));
    expect(state).toMatchObject({ reason: "bounce", emailId: id, bounceReason: reason, ...facts });
    expect(state).not.toHaveProperty("reply");
  });

  test("a full mailbox bounces and suppresses nobody", async () => {
    world.relay.answer = () => refused("rcpt", "552 5.2.2 full");
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailBounced");
    expect((await lastEvent(id)).data).toMatchObject({ recipientDomain: "example.org" });
    const { recipientHash } = await world.state(id);
    expect(await world.store.lastRevision(suppressionStream(recipientHash))).toBeNull();
  });

  test("a bounce names no domain where domains are not kept", async () => {
    world.relay.answer = () => refused("rcpt", "552 5.2.2 full");
    const id = await world.accept("order-1001");
    await world.start({ bounceDomains: false });
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailBounced");
    expect(JSON.stringify((await lastEvent(id)).data)).not.toContain("example.org");
  });

  test("a required log-in counts as a relay fault from the first time on", async () => {
    world.relay.answer = () => refused("mail", "530 5.7.0 Authentication required");
    const id = await world.accept("order-1001");
    const { delivery } = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await until(() => delivery.relayFault !== null, "the failure report");
    expect(delivery.relayFault).toEqual({ trouble: "login_refused", reason: "authentication_required: 530" });
  });

  test("a relay that seems to want a log-in is reported at once, and stopped by no single message", async () => {
    const reply = "554 5.7.1 <a@example.org>: Recipient address rejected: Access denied";
    world.relay.answer = () => ({ ...refused("rcpt", reply), mayWantLogin: true }) as MailOutcome;
    const id = await world.accept("order-1001");
    const { delivery, reports } = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await until(() => delivery.relayFault !== null, "the failure report");
    expect((await lastEvent(id)).data).toMatchObject({
      reason: "authentication_required",
      attemptBurnt: false,
    });
    const fault = { trouble: "login_refused", reason: "authentication_required: 554", emailId: id } as const;
    expect(delivery.relayFault).toEqual(fault);
    expect(reports).toMatchObject([{ kind: "began", fault }]);
  });

  test("a relay that wants TLS is not said to want a log-in", async () => {
    world.relay.answer = () => refused("mail", "530 5.7.0 Must issue a STARTTLS command first");
    const ids = await Promise.all(["order-1001", "order-1002", "order-1003"].map((key) => world.accept(key)));
    const { delivery } = await world.start();
    for (const id of ids) await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await until(() => delivery.relayFault !== null, "the failure report");
    expect(delivery.relayFault).toEqual({ trouble: "tls_failed", reason: "tls_required: 530" });
  });

  test("a relay that asks for less mail is known to throttle, not to be away", async () => {
    world.relay.answer = () => refused("mail", "421 4.7.0 Too many messages, slow down");
    const ids = await Promise.all(["order-1001", "order-1002", "order-1003"].map((key) => world.accept(key)));
    const { delivery, reports } = await world.start();
    for (const id of ids) await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await until(() => delivery.relayFault !== null, "the failure report");
    expect(delivery.relayFault).toEqual({ trouble: "throttled", reason: "throttled: 421" });
    expect(reports).toMatchObject([{ kind: "began", fault: { trouble: "throttled" } }]);
  });

  test("a relay that does not answer the final dot counts as one that may deliver and does not confirm it", async () => {
    world.relay.answer = () => ({ kind: "unknown", reason: "timeout" });
    const ids = await Promise.all(["order-1001", "order-1002", "order-1003"].map((key) => world.accept(key)));
    const { delivery } = await world.start();
    for (const id of ids) await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await until(() => delivery.relayFault !== null, "the failure report");
    expect(delivery.relayFault).toEqual({ trouble: "unconfirmed", reason: "no_answer_to_final_dot" });
  });

  test("a relay that defers ten recipients without taking one message is in trouble, until it takes one", async () => {
    world.relay.answer = () => refused("rcpt", "450 4.7.25 cannot find your hostname");
    const { delivery, reports } = await world.start();
    const deferred = async (to: string) => {
      const id = await world.accept(to, { to });
      await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
      await until(() => delivery.inFlightCount === 0, "the end of the attempt");
      return id;
    };
    for (let nth = 1; nth < 10; nth += 1) await deferred(`r${nth}@example.org`);
    world.clock.advance(MINUTE_MS);
    await deferred("r1@example.org");
    // One recipient counts once, however often it is deferred.
    expect(delivery.relayFault).toBeNull();
    await deferred("r10@example.org");
    const fault = { trouble: "defers_everybody", reason: "recipient_deferred: 450 4.7.25" } as const;
    expect(delivery.relayFault).toMatchObject(fault);
    expect(reports).toMatchObject([{ kind: "began", fault }]);
    world.relay.answer = () => ACCEPTED;
    const taken = await world.accept("taken");
    await world.untilEvents(taken, "EmailDeliveryStarted", "EmailSent");
    await until(() => delivery.relayFault === null, "the end of the trouble");
    expect(reports).toMatchObject([{ kind: "began" }, { kind: "ended" }]);
    world.relay.answer = () => refused("rcpt", "450 4.7.25 cannot find your hostname");
    await deferred("r11@example.org");
    expect(delivery.relayFault).toBeNull();
  });

  test("a refusal of our sender fails", async () => {
    world.relay.answer = () => refused("mail", "550 5.7.1 not you");
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailFailed");
    expect(await world.state(id)).toMatchObject({ status: "failed" });
  });

  test("no answer to the final dot: ambiguous, and repeated with the same Message-ID", async () => {
    world.relay.answer = (_, nth) => (nth === 1 ? { kind: "unknown", reason: "timeout" } : ACCEPTED);
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    expect((await lastEvent(id)).data).toMatchObject({ ambiguous: true, reason: "no_answer_to_final_dot" });
    world.pass(MINUTE_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
    expect(new Set(world.relay.sent.map(({ message }) => message.messageId)).size).toBe(1);
  });

  test("no answer to the final dot: the next attempts prefer the relay that may have it", async () => {
    const answers = [
      { kind: "unknown", reason: "timeout" },
      refused("rcpt", "450 4.2.0 busy"),
      ACCEPTED,
    ] as const;
    world.relay.answer = (_, nth) => answers[nth - 1] ?? ACCEPTED;
    world.relay.name = "relay-a.example:25";
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    world.relay.name = "relay-b.example:25";
    world.pass(2 * MINUTE_MS);
    const [started, deferred] = ["EmailDeliveryStarted", "EmailDeferred"] as const;
    await world.untilEvents(id, started, deferred, started, deferred);
    world.pass(4 * MINUTE_MS);
    await world.untilEvents(id, started, deferred, started, deferred, started, "EmailSent");
    expect(world.relay.preferred).toEqual([null, "relay-a.example:25", "relay-a.example:25"]);
  });

  test("no answer to the final dot, when set to hold: not repeated until released", async () => {
    world.relay.answer = (_, nth) => (nth === 1 ? { kind: "unknown", reason: "timeout" } : ACCEPTED);
    const id = await world.accept("order-1001");
    const instance = await world.start({ policy: { onAmbiguous: "hold" } });
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await instance.caughtUp();
    world.pass(48 * HOUR_MS);
    await world.settle();
    expect(world.relay.sent).toHaveLength(1);
    const { workspaceId } = world;
    const context = { at: world.clock.now(), correlationId: "cli", actor: "cli", workspaceId };
    expect(await resumeEmail(world.store, id, context)).toEqual({ outcome: "resumed", ambiguous: true });
    await until(async () => (await world.state(id)).status === "sent", "the repeat");
    expect(world.relay.sent).toHaveLength(2);
  });

  test("a held message stays held while a pause extends its life, and then expires", async () => {
    world.relay.answer = () => ({ kind: "unknown", reason: "timeout" });
    const id = await world.accept("order-1001");
    const instance = await world.start({ policy: { onAmbiguous: "hold" } });
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await world.pause();
    world.clock.advance(HOUR_MS);
    await world.unpause();
    await instance.caughtUp();
    world.pass(LIFE_MS - HOUR_MS + 1);
    await world.settle();
    expect(world.relay.sent).toHaveLength(1);
    world.pass(HOUR_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailFailed");
  });
});

describe("after a crash", () => {
  test("between the suppression and the bounce, the message ends bounced without a second send", async () => {
    world.relay.answer = () => refused("rcpt", "550 5.1.1 unknown");
    const id = await world.accept("order-1001");
    world.store.beforeAppend = (_, types) => {
      if (types.includes("EmailBounced")) throw new Error("killed by the test");
    };
    const first = await world.start({ worker: "w1" });
    await until(() => first.failures.length > 0, "the crash of the process");
    await first.stop(0);
    world.store.beforeAppend = () => {};
    await world.untilEvents(id, "EmailDeliveryStarted");
    const second = await world.start({ worker: "w2" });
    await second.caughtUp();
    await world.settle();
    world.pass(LEASE_MS);
    await world.untilEvents(
      id,
      "EmailDeliveryStarted",
      "EmailDeferred",
      "EmailDeliveryStarted",
      "EmailBounced",
    );
    expect(world.relay.sent).toHaveLength(1);
    const facts = { code: 550, enhancedCode: "5.1.1", recipientDomain: "example.org" };
    expect(await lastReadableData(id)).toMatchObject({ attempt: 2, ...facts, reply: "550 5.1.1 unknown" });
  });

  test("an expired lease: ambiguous, burnt, and retried with the same Message-ID", async () => {
    const id = await world.accept("order-1001");
    await appendForeign(world, id, {
      type: "EmailDeliveryStarted",
      data: { attempt: 1, worker: "dead", leaseMs: LEASE_MS, transport: "smtp" },
    });
    const instance = await world.start();
    await instance.caughtUp();
    // The lease counts from when the claim was first seen here.
    await world.settle();
    world.pass(LEASE_MS - 1);
    await world.settle();
    expect(world.relay.sent).toHaveLength(0);
    world.pass(1);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
    const [, , , deferred] = await world.events(id);
    expect(deferred?.data).toMatchObject({
      reason: "lease_expired",
      ambiguous: true,
      attemptBurnt: true,
      attempt: 1,
    });
    expect(world.relay.sent[0]?.message.messageId).toBe(`<${id}@example.com>`);
  });

  test("the claims of a worker known to have ended expire at once, and no other's", async () => {
    const [abandoned, held] = [await world.accept("order-1001"), await world.accept("order-1002")];
    for (const [id, worker] of [
      [abandoned, "dead"],
      [held, "other"],
    ] as const)
      await appendForeign(world, id, {
        type: "EmailDeliveryStarted",
        data: { attempt: 1, worker, leaseMs: LEASE_MS, transport: "smtp" },
      });
    await world.start({ endedWorker: "dead" });
    const [claimed, deferred] = ["EmailDeliveryStarted", "EmailDeferred"] as const;
    await world.untilEvents(abandoned, claimed, deferred, claimed, "EmailSent");
    const [, , , told] = await world.events(abandoned);
    expect(told?.data).toMatchObject({ reason: "lease_expired", ambiguous: true, attemptBurnt: true });
    await world.untilEvents(held, claimed);
    expect(world.relay.sent).toHaveLength(1);
  });

  test("simulated mail is not held even if mail that may have been sent is: no relay can have it", async () => {
    const id = await world.accept("order-1001", { to: "delivered@simulator.test" });
    await appendForeign(world, id, {
      type: "EmailDeliveryStarted",
      data: { attempt: 1, worker: "dead", leaseMs: LEASE_MS, transport: "simulator" },
    });
    await world.start({ endedWorker: "dead", policy: { onAmbiguous: "hold" } });
    const [claimed, deferred] = ["EmailDeliveryStarted", "EmailDeferred"] as const;
    await world.untilEvents(id, claimed, deferred, claimed, "EmailSent", "EmailDelivered");
    expect(world.relay.sent).toHaveLength(0);
  });

  test("another instance's claim is left alone while its lease lasts, and its outcome stands", async () => {
    const id = await world.accept("order-1001");
    const facts = { attempt: 1, transport: "smtp" };
    await appendForeign(world, id, {
      type: "EmailDeliveryStarted",
      data: { ...facts, worker: "other", leaseMs: LEASE_MS },
    });
    const instance = await world.start();
    await world.settle();
    await appendForeign(world, id, { type: "EmailSent", data: { ...facts, reply: "250 ok" } });
    await instance.caughtUp();
    world.pass(LEASE_MS * 2);
    await world.settle();
    expect((await world.events(id)).slice(2).map(({ type }) => type)).toEqual([
      "EmailDeliveryStarted",
      "EmailSent",
    ]);
    expect(world.relay.sent).toHaveLength(0);
  });

  test("a worker that is slow but alive keeps its claim in its own process", async () => {
    const slow = gate<MailOutcome>();
    world.relay.answer = () => slow.promise;
    const id = await world.accept("order-1001");
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted");
    await instance.caughtUp();
    await world.settle();
    world.pass(LEASE_MS * 2);
    await world.settle();
    expect(await world.events(id)).toHaveLength(3);
    slow.resolve(ACCEPTED);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("a message that this instance accepted and another has tried since is retried from its latest history", async () => {
    const id = await world.accept("order-1001");
    await appendForeign(world, id, {
      type: "EmailDeliveryStarted",
      data: { attempt: 1, worker: "other", leaseMs: LEASE_MS, transport: "smtp" },
    });
    const facts = { attempt: 1, reason: "relay_unavailable", attemptBurnt: false, ambiguous: false };
    const nextAttemptAt = new Date(world.clock.now() + 30 * SECOND_MS).toISOString();
    await appendForeign(world, id, { type: "EmailDeferred", data: { ...facts, nextAttemptAt } });
    await world.start({ hasAccepted: true });
    world.pass(30 * SECOND_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
  });

  /** Starts an attempt that the relay has not answered yet, and whose lease another instance has expired. */
  async function startAttemptAndExpireLease() {
    const slow = gate<MailOutcome>();
    world.relay.answer = () => slow.promise;
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted");
    const ambiguous = {
      attemptBurnt: true,
      ambiguous: true,
      nextAttemptAt: new Date(world.clock.now()).toISOString(),
    };
    await appendForeign(world, id, {
      type: "EmailDeferred",
      data: { attempt: 1, reason: "lease_expired", ...ambiguous },
    });
    return { id, slow };
  }

  test("an outcome that comes after another worker took over is recorded, and ends the message", async () => {
    const { id, slow } = await startAttemptAndExpireLease();
    await appendForeign(world, id, {
      type: "EmailDeliveryStarted",
      data: { attempt: 2, worker: "other", leaseMs: LEASE_MS, transport: "smtp" },
    });
    slow.resolve(ACCEPTED);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
    expect(await world.state(id)).toMatchObject({ status: "sent", attempts: 2, settledAttempts: [1] });
  });

  test("an outcome that comes after another end is recorded, and that the relay took the message is what counts", async () => {
    const { id, slow } = await startAttemptAndExpireLease();
    await appendForeign(world, id, { type: "EmailFailed", data: { attempt: 1, reason: "expired" } });
    slow.resolve(ACCEPTED);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailFailed", "EmailSent");
    expect(await world.state(id)).toMatchObject({ status: "sent", reason: null });
    expect((await lastEvent(id)).data).not.toHaveProperty("superseded");
  });

  test("an outcome that comes after the end and decides nothing says so in the log", async () => {
    const { id, slow } = await startAttemptAndExpireLease();
    const [claimed, deferred] = ["EmailDeliveryStarted", "EmailDeferred"] as const;
    const facts = { attempt: 2, transport: "smtp" };
    await appendForeign(world, id, { type: claimed, data: { ...facts, worker: "other", leaseMs: LEASE_MS } });
    await appendForeign(world, id, { type: "EmailSent", data: { ...facts, reply: "250 ok" } });
    slow.resolve({ kind: "outOfTime" });
    await world.untilEvents(id, claimed, deferred, claimed, "EmailSent", deferred);
    expect((await lastEvent(id)).data).toMatchObject({ attempt: 1, reason: "out_of_time", superseded: true });
    expect((await world.state(id)).status).toBe("sent");
  });
});

describe("what holds a message back", () => {
  test("a paused workspace: mail waits without claims and with almost no work, then continues", async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, (_, index) => world.accept(`order-${index}`)));
    await world.pause();
    const instance = await world.start({ sessionsMax: 4 });
    await world.settle();
    const before = { ...world.store.calls };
    await quietTime(700);
    expect(world.store.calls.append).toBe(before.append);
    // The states of one workspace and one sender are read once a second.
    expect(world.store.calls.read - before.read).toBeLessThanOrEqual(6);
    expect(world.relay.sessions).toBe(0);
    await world.unpause();
    world.pass(2 * SECOND_MS);
    await until(() => world.relay.sent.length === ids.length, "all to be sent");
    expect(instance.failures).toEqual([]);
  });

  test("a pause between check and claim: the claim is released, unburnt", async () => {
    const id = await world.accept("order-1001");
    let isPaused = false;
    world.store.afterAppend = async (_, types) => {
      if (!types.includes("EmailDeliveryStarted") || isPaused) return;
      isPaused = true;
      await world.pause();
    };
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    const facts = { reason: "sending_paused", attemptBurnt: false, ambiguous: false };
    expect((await lastEvent(id)).data).toMatchObject(facts);
    await world.settle();
    expect(await world.events(id)).toHaveLength(4);
    expect(world.relay.sent).toHaveLength(0);
    await world.unpause();
    // As soon as the resumption is known, like all mail of the workspace.
    world.pass(2 * SECOND_MS);
    await until(async () => (await world.state(id)).status === "sent", "the message to be sent");
  });

  test("a sender disabled between check and claim: likewise", async () => {
    const id = await world.accept("order-1001");
    let isDisabled = false;
    world.store.afterAppend = async (_, types) => {
      if (!types.includes("EmailDeliveryStarted") || isDisabled) return;
      isDisabled = true;
      await world.setSender("SenderDisabled");
    };
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    expect((await lastEvent(id)).data).toMatchObject({ reason: "sender_unavailable", attemptBurnt: false });
    await world.settle();
    expect(await world.events(id)).toHaveLength(4);
    expect(world.relay.sent).toHaveLength(0);
    await world.setSender("SenderEnabled");
    world.pass(2 * SECOND_MS);
    await until(async () => (await world.state(id)).status === "sent", "the message to be sent");
  });

  test("a disabled sender: mail waits, then continues", async () => {
    const id = await world.accept("order-1001");
    await world.setSender("SenderDisabled");
    await world.start();
    await world.settle();
    expect(world.relay.sessions).toBe(0);
    expect(await world.events(id)).toHaveLength(2);
    await world.setSender("SenderEnabled");
    world.pass(2 * SECOND_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("a disabled domain: mail of its addresses waits, then continues; other mail goes out meanwhile", async () => {
    const domainId = await world.addDomain("shop.example");
    const own = await world.addDomain("own.example");
    const ids = [
      await world.accept("order-1001", { from: "one@shop.example" }),
      await world.accept("order-1002", { from: "two@shop.example" }),
    ];
    const other = await world.accept("order-1003", { from: "one@own.example" });
    await world.setSender("SenderDisabled", domainId);
    await world.start();
    await world.untilEvents(other, "EmailDeliveryStarted", "EmailSent");
    await world.settle();
    for (const id of ids) expect(await world.events(id)).toHaveLength(2);
    expect((await world.state(ids[0] as string)).authorityId).toBe(domainId);
    expect((await world.state(other)).authorityId).toBe(own);
    await world.setSender("SenderEnabled", domainId);
    world.pass(2 * SECOND_MS);
    for (const id of ids) await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("a domain disabled between check and claim: likewise", async () => {
    const domainId = await world.addDomain("shop.example");
    const id = await world.accept("order-1001", { from: "one@shop.example" });
    let isDisabled = false;
    world.store.afterAppend = async (_, types) => {
      if (!types.includes("EmailDeliveryStarted") || isDisabled) return;
      isDisabled = true;
      await world.setSender("SenderDisabled", domainId);
    };
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    expect((await lastEvent(id)).data).toMatchObject({ reason: "sender_unavailable", attemptBurnt: false });
    expect(world.relay.sent).toHaveLength(0);
  });

  test("a disabled address: its mail waits though its domain may send", async () => {
    await world.addDomain("example.com");
    const held = await world.accept("order-1001");
    const other = await world.accept("order-1002", { from: "never-added@example.com" });
    await world.setSender("SenderDisabled");
    await world.start();
    await world.untilEvents(other, "EmailDeliveryStarted", "EmailSent");
    await world.settle();
    expect(await world.events(held)).toHaveLength(2);
  });

  test("an address that may send by itself needs no read of its domain", async () => {
    const read: string[] = [];
    world.store.beforeRead = (stream) => void read.push(stream);
    await world.accept("order-1001");
    const senderId = world.deps.keys.hashAddress(world.workspaceId, "shop@example.com");
    expect(read.filter((stream) => stream.startsWith("sender-"))).toEqual([`sender-${senderId}`]);
  });

  test("more mail of one sender than one query returns does not delay another's", async () => {
    for (let index = 0; index < 600; index += 1) await world.accept(`held-${index}`);
    const id = await world.accept("order-1001", { from: "news@example.com" });
    await world.setSender("SenderDisabled");
    const instance = await world.start({ sessionsMax: 1 });
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    await world.settle();
    expect(world.relay.sent).toHaveLength(1);
    expect(instance.failures).toEqual([]);
  });

  test("a recipient suppressed since: the message ends suppressed and is not sent", async () => {
    world.relay.answer = () => refused("rcpt", "550 5.1.1 unknown");
    const first = await world.accept("order-1001");
    const instance = await world.start({ sessionsMax: 1 });
    await world.untilEvents(first, "EmailDeliveryStarted", "EmailBounced");
    const second = await world.accept("order-1002");
    await world.untilEvents(second, "EmailDeliveryStarted", "EmailSuppressed");
    expect(world.relay.sent).toHaveLength(1);
    expect(instance.failures).toEqual([]);
  });

  test("a recipient suppressed for a complaint about the message itself: it ends suppressed, not bounced", async () => {
    const id = await world.accept("order-1001");
    const { recipientHash } = await world.state(id);
    const { workspaceId } = world;
    const complaint = { workspaceId, recipientHash, emailId: id, reason: "complaint" } as const;
    const context = { at: world.clock.now(), correlationId: "t", actor: "t", workspaceId };
    await suppressRecipient(world.store, { ...complaint, address: "ana@example.org" }, context);
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSuppressed");
    expect(world.relay.sent).toHaveLength(0);
  });

  test("a message that was canceled while the read model stood still is not sent", async () => {
    const id = await world.accept("order-1001");
    world.relay.refuse = () => "not yet";
    const instance = await world.start({ sessionsMax: 1 });
    await until(() => world.relay.sessions > 0, "a read of the message");
    await appendForeign(world, id, { type: "EmailCanceled", data: {} });
    world.relay.refuse = () => null;
    await instance.caughtUp();
    world.pass(HOUR_MS);
    await world.settle();
    expect(world.relay.sent).toHaveLength(0);
    expect((await world.state(id)).status).toBe("canceled");
  });

  test("a disk that is nearly full: nothing is claimed until there is room", async () => {
    world.freeBytes = 1_000;
    const id = await world.accept("order-1001");
    world.freeBytes = 499;
    await world.start();
    await world.settle();
    expect(await world.events(id)).toHaveLength(2);
    world.freeBytes = 500;
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("a clock that was set back: mail due at once is sent at once", async () => {
    const id = await world.accept("order-1001");
    world.relay.refuse = () => {
      // Between reading the read model and claiming.
      if (world.relay.sessions === 1) world.clock.setBack(10 * SECOND_MS);
      return null;
    };
    const instance = await world.start({ sessionsMax: 1 });
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    expect(instance.failures).toEqual([]);
  });

  test("a clock that was a day ahead: mail accepted by it is sent once, and scheduled mail waits", async () => {
    const scheduledAt = world.clock.now() + 2 * DAY_MS;
    const id = await world.accept("order-1001");
    const simulated = await world.accept("order-1002", { to: "delivered@simulator.test" });
    const scheduled = await world.accept("order-1003", { scheduledAt });
    world.clock.setBack(DAY_MS);
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    await world.untilEvents(simulated, "EmailDeliveryStarted", "EmailSent", "EmailDelivered");
    world.pass(MINUTE_MS);
    await world.settle();
    expect(world.relay.sent.length).toBe(1);
    expect(await world.events(scheduled)).toHaveLength(2);
    world.pass(3 * DAY_MS);
    await world.untilEvents(scheduled, "EmailDeliveryStarted", "EmailSent");
    expect(instance.failures).toEqual([]);
  });

  test("a clock that goes back while a message waits for the relay: it is sent when the relay takes it", async () => {
    world.relay.refuse = () => "ECONNREFUSED";
    const id = await world.accept("order-1001");
    await world.start();
    await world.settle();
    world.clock.setBack(HOUR_MS);
    world.relay.refuse = () => null;
    world.pass(MINUTE_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });
});

describe("the end of a message's life", () => {
  test("does not come when a clock jumps ahead by mistake and back again", async () => {
    world.relay.refuse = () => "ECONNREFUSED";
    const id = await world.accept("order-1001");
    await world.start();
    await world.settle();
    world.clock.setBack(-2 * LIFE_MS);
    for (const passedMs of [0, MINUTE_MS, 10 * MINUTE_MS]) {
      world.pass(passedMs);
      await world.settle();
    }
    expect(await world.events(id)).toHaveLength(2);
    world.clock.setBack(2 * LIFE_MS);
    world.relay.refuse = () => null;
    world.pass(MINUTE_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("is not reached by waiting for a time set by a wrong clock", async () => {
    world.relay.answer = () => refused("rcpt", "450 4.2.0 busy");
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    world.clock.setBack(-2 * LIFE_MS);
    world.pass(MINUTE_MS);
    const attempted = ["EmailDeliveryStarted", "EmailDeferred"] as const;
    await world.untilEvents(id, ...attempted, ...attempted);
    world.clock.setBack(2 * LIFE_MS);
    world.relay.answer = () => ACCEPTED;
    world.pass(MINUTE_MS);
    await world.untilEvents(id, ...attempted, ...attempted, "EmailDeliveryStarted", "EmailSent");
  });

  test("comes when a clock jumps ahead and stays there", async () => {
    world.relay.refuse = () => "ECONNREFUSED";
    const id = await world.accept("order-1001");
    await world.start();
    await world.settle();
    world.clock.setBack(-2 * LIFE_MS);
    world.pass(MINUTE_MS);
    await world.settle();
    world.pass(SETTLING_MS);
    await world.untilEvents(id, "EmailFailed");
  });

  test("leaves time between attempts while its arrival is not yet believed", async () => {
    world.relay.answer = () => refused("rcpt", "450 4.2.0 busy");
    const id = await world.accept("order-1001");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    world.clock.setBack(-2 * LIFE_MS);
    world.pass(MINUTE_MS);
    await world.untilEvents(
      id,
      "EmailDeliveryStarted",
      "EmailDeferred",
      "EmailDeliveryStarted",
      "EmailDeferred",
    );
    await world.settle();
    expect(world.relay.sent).toHaveLength(2);
  });

  test("comes after 72 hours without a relay", async () => {
    world.relay.refuse = () => "ECONNREFUSED";
    const id = await world.accept("order-1001");
    const instance = await world.start();
    await world.settle();
    world.pass(LIFE_MS - 1);
    await world.settle();
    expect(await world.events(id)).toHaveLength(2);
    world.pass(5 * SECOND_MS);
    await world.untilEvents(id, "EmailFailed");
    expect((await lastEvent(id)).data).toEqual({ attempt: 0, reason: "expired" });
    expect(instance.failures).toEqual([]);
  });

  test("is postponed by the length of a pause, and does not come during one", async () => {
    world.relay.refuse = () => "ECONNREFUSED";
    const id = await world.accept("order-1001");
    await world.start();
    await world.pause();
    world.pass(LIFE_MS + HOUR_MS);
    await world.settle();
    expect(await world.events(id)).toHaveLength(2);
    await world.unpause();
    world.pass(LIFE_MS - MINUTE_MS);
    await world.settle();
    expect(await world.events(id)).toHaveLength(2);
    world.pass(2 * MINUTE_MS);
    await world.untilEvents(id, "EmailFailed");
  });

  test("spares a message that another worker has claimed meanwhile: its outcome stands", async () => {
    const id = await world.accept("order-1001");
    world.relay.refuse = () => "ECONNREFUSED";
    await world.start();
    await world.settle();
    let isFirst = true;
    const claim = { attempt: 1, worker: "other", leaseMs: LEASE_MS, transport: "smtp" };
    world.store.beforeAppend = async (_, types) => {
      if (!types.includes("EmailFailed") || !isFirst) return;
      isFirst = false;
      // The other worker is first, so our append of the end loses.
      await appendForeign(world, id, { type: "EmailDeliveryStarted", data: claim });
    };
    world.pass(LIFE_MS + 6 * SECOND_MS);
    await until(() => !isFirst, "the end to be attempted");
    await world.settle();
    expect((await world.state(id)).status).toBe("sending");
    await appendForeign(world, id, {
      type: "EmailSent",
      data: { attempt: 1, transport: "smtp", reply: "250 ok" },
    });
    expect((await world.state(id)).status).toBe("sent");
  });
});

describe("the breaker", () => {
  test("opens after relay faults, burns no attempt, and lets one worker at a time through", async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, (_, index) => world.accept(`order-${index}`)));
    world.relay.refuse = () => "ECONNREFUSED";
    const instance = await world.start({ sessionsMax: 4 });
    await until(() => instance.delivery.relayFault !== null, "the breaker to open");
    await world.settle();
    expect(instance.delivery.relayFault?.reason).toBe("ECONNREFUSED");
    const sessionsAtOpen = world.relay.sessions;
    expect(sessionsAtOpen).toBeLessThanOrEqual(5 + 3);
    for (const id of ids) expect(await world.events(id)).toHaveLength(2);
    world.pass(SECOND_MS);
    await world.settle();
    expect(world.relay.sessions).toBe(sessionsAtOpen + 1);
    // The rest doubles.
    world.pass(SECOND_MS);
    await world.settle();
    expect(world.relay.sessions).toBe(sessionsAtOpen + 1);
    world.pass(SECOND_MS);
    await world.settle();
    expect(world.relay.sessions).toBe(sessionsAtOpen + 2);
    world.relay.refuse = () => null;
    world.pass(30 * SECOND_MS);
    await until(() => world.relay.sent.length === ids.length, "all to be sent");
    expect(instance.delivery.relayFault).toBeNull();
  });

  test("lets no second worker through until the first has returned", async () => {
    for (let index = 0; index < 30; index += 1) await world.accept(`order-${index}`);
    world.relay.refuse = () => "ECONNREFUSED";
    const instance = await world.start({ sessionsMax: 4 });
    await until(() => instance.delivery.relayFault !== null, "the breaker to open");
    await world.settle();
    const slow = gate<MailOutcome>();
    world.relay.refuse = () => null;
    world.relay.answer = () => slow.promise;
    world.pass(SECOND_MS);
    await until(() => world.relay.sent.length > 0, "the first attempt");
    await world.settle();
    world.pass(MINUTE_MS);
    await world.settle();
    expect(world.relay.sent).toHaveLength(1);
    slow.resolve(ACCEPTED);
    await until(() => world.relay.sent.length === 30, "all to be sent");
  });

  test("a store fault during the trial does not keep mail back", async () => {
    for (let index = 0; index < 6; index += 1) await world.accept(`order-${index}`);
    world.relay.refuse = () => "ECONNREFUSED";
    const instance = await world.start({ sessionsMax: 2 });
    await until(() => instance.delivery.relayFault !== null, "the breaker to open");
    await world.settle();
    world.relay.refuse = () => null;
    let faults = 0;
    world.store.beforeAppend = (_, types) => {
      if (!types.includes("EmailDeliveryStarted") || faults > 0) return;
      faults += 1;
      throw unavailable();
    };
    world.pass(SECOND_MS);
    await until(() => faults > 0, "the failure report");
    await until(() => world.relay.sent.length === 6, "all to be sent");
  });

  test("a trial that finds nothing to deliver yields to the next", async () => {
    for (let index = 0; index < 6; index += 1) await world.accept(`order-${index}`);
    world.relay.refuse = () => "ECONNREFUSED";
    const instance = await world.start({ sessionsMax: 2 });
    await until(() => instance.delivery.relayFault !== null, "the breaker to open");
    await world.setSender("SenderDisabled");
    world.relay.refuse = () => null;
    world.pass(SECOND_MS);
    await world.settle();
    expect(world.relay.sent).toHaveLength(0);
    await world.setSender("SenderEnabled");
    world.pass(2 * SECOND_MS);
    await until(() => world.relay.sent.length === 6, "all to be sent");
    expect(instance.delivery.relayFault).toBeNull();
  });

  test("closes when a session opens, even if its message cannot be sent after all", async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, (_, index) => world.accept(`order-${index}`)));
    world.relay.refuse = () => "ECONNREFUSED";
    const instance = await world.start({ sessionsMax: 1 });
    await until(() => instance.delivery.relayFault !== null, "the breaker to open");
    world.store.beforeRead = (stream) => {
      if (stream.startsWith("suppression-")) throw unavailable();
    };
    world.relay.refuse = () => null;
    await until(async () => {
      world.pass(SECOND_MS);
      const states = await Promise.all(ids.map(world.state));
      return states.some(({ status }) => status === "deferred");
    }, "a message to be put off");
    await until(() => instance.delivery.relayFault === null, "the breaker to close");
    expect(world.relay.sent).toHaveLength(0);
  });

  test("is closed by a session without a message when nothing is due any more", async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, (_, index) => world.accept(`order-${index}`)));
    world.relay.refuse = () => "ECONNREFUSED";
    const instance = await world.start();
    await until(() => instance.delivery.relayFault !== null, "the breaker to open");
    for (const id of ids) await appendForeign(world, id, { type: "EmailCanceled", data: {} });
    await instance.caughtUp();
    world.relay.refuse = () => null;
    await until(() => {
      world.pass(SECOND_MS);
      return instance.delivery.relayFault === null;
    }, "the breaker to close");
    expect(instance.reports.map(({ kind }) => kind)).toEqual(["began", "ended"]);
    expect(world.relay.sent).toHaveLength(0);
  });

  test("is not closed by sessions while the relay refuses the messages", async () => {
    world.relay.answer = () => refused("mail", "421 4.3.2 closing");
    for (let index = 0; index < 6; index += 1) await world.accept(`order-${index}`);
    const instance = await world.start({ sessionsMax: 1 });
    await until(() => {
      world.pass(10 * SECOND_MS);
      return world.relay.sent.length > 10;
    }, "more attempts");
    expect(instance.delivery.relayFault).toMatchObject({ trouble: "unavailable" });
    expect(instance.reports.map(({ kind }) => kind)).not.toContain("ended");
  });

  test("answers about the relay itself open it too, and burn nothing", async () => {
    world.relay.answer = () => refused("mail", "421 4.3.2 closing");
    const ids = await Promise.all(Array.from({ length: 8 }, (_, index) => world.accept(`order-${index}`)));
    const instance = await world.start({ sessionsMax: 1 });
    await until(() => instance.delivery.relayFault !== null, "the breaker to open");
    await world.settle();
    expect(world.relay.sent).toHaveLength(5);
    const states = await Promise.all(ids.map(world.state));
    expect(states.map(({ countedAttempts }) => countedAttempts)).toEqual(ids.map(() => 0));
    expect(states.filter(({ status }) => status === "deferred")).toHaveLength(5);
  });

  test("a message that the relay refuses again and again, as if it were in trouble, leaves it closed", async () => {
    world.relay.answer = () => refused("final", "451 4.3.0 scanner failed");
    const id = await world.accept("order-1001");
    const instance = await world.start();
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await until(async () => (await world.state(id)).settledAttempts.length === attempt, "the attempt");
      await instance.caughtUp();
      world.pass(20 * MINUTE_MS);
    }
    expect(instance.delivery.relayFault).toBeNull();
    expect(instance.reports).toEqual([]);
  });

  test("opens for a second after a recovery, however long it was open before", () => {
    const { clock } = world;
    const breaker = new CircuitBreaker(clock, new RelayOutageReports(clock, () => {}));
    const fail = (times: number) => {
      for (let fault = 0; fault < times; fault += 1)
        breaker.acquire()?.fault({ trouble: "unreachable", reason: "ECONNREFUSED" });
    };
    fail(5);
    expect(breaker.restMs).toBe(SECOND_MS);
    clock.advance(SECOND_MS);
    fail(1);
    expect(breaker.restMs).toBe(2 * SECOND_MS);
    clock.advance(2 * SECOND_MS);
    breaker.acquire()?.success();
    fail(5);
    expect(breaker.restMs).toBe(SECOND_MS);
  });

  test("answers about recipients leave it closed", async () => {
    world.relay.answer = () => refused("rcpt", "450 4.7.1 greylisted");
    for (let index = 0; index < 20; index += 1) await world.accept(`order-${index}`);
    const instance = await world.start();
    await until(() => world.relay.sent.length === 20, "all to be attempted");
    expect(instance.delivery.relayFault).toBeNull();
  });
});

describe("stopping", () => {
  test("waits for sends in flight, records them, and claims nothing more", async () => {
    const slow = gate<MailOutcome>();
    world.relay.answer = () => slow.promise;
    const ids = await Promise.all(Array.from({ length: 10 }, (_, index) => world.accept(`order-${index}`)));
    const instance = await world.start({ sessionsMax: 2 });
    await until(() => world.relay.sent.length === 2, "two in flight");
    let isStopped = false;
    const stopped = instance.stop().then(() => {
      isStopped = true;
    });
    await world.settle();
    expect(isStopped).toBe(false);
    slow.resolve(ACCEPTED);
    await stopped;
    const states = await Promise.all(ids.map(world.state));
    expect(states.filter(({ status }) => status === "sent")).toHaveLength(2);
    expect(states.filter(({ status }) => status === "queued")).toHaveLength(8);
  });

  test("claims nothing with a session that opened too late", async () => {
    const id = await world.accept("order-1001");
    const held = gate<void>();
    const { transport } = world.relay;
    world.relay.transport = (worker, sessionsMax) => {
      const inner = transport(worker, sessionsMax);
      return {
        ...inner,
        async session(signal) {
          world.relay.sessions += 1;
          await held.promise;
          return inner.session(signal);
        },
      };
    };
    const instance = await world.start({ sessionsMax: 1 });
    await until(() => world.relay.sessions > 0, "the message to wait for a session");
    const stopped = instance.stop();
    held.resolve();
    await stopped;
    expect(await world.events(id)).toHaveLength(2);
  });

  test("gives up after its grace period, and leaves the claim to its lease", async () => {
    world.relay.answer = () => new Promise(() => {});
    const id = await world.accept("order-1001");
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted");
    await instance.stop(20);
    await world.untilEvents(id, "EmailDeliveryStarted");
    world.relay.answer = () => ACCEPTED;
    await world.start({ worker: "w2" });
    await world.settle();
    world.pass(LEASE_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
  });
});

describe("a fault of the store", () => {
  test.each(["unavailable", "outcomeUnknown"] as const)(
    "at the claim (%s) sends nothing, and is retried",
    async (failure) => {
      const id = await world.accept("order-1001");
      let faults = 0;
      world.store.beforeAppend = (_, types) => {
        if (!types.includes("EmailDeliveryStarted") || faults === 2) return;
        faults += 1;
        expect(world.relay.sent).toHaveLength(0);
        throw new StoreError(failure, "the store is unavailable");
      };
      const instance = await world.start({ sessionsMax: 1 });
      await until(() => faults === 2, "two failure reports");
      await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
      expect(world.relay.sent).toHaveLength(1);
      expect(instance.failures).toHaveLength(2);
    },
  );

  test("at a claim that is written after its time was over: it is released too", async () => {
    const id = await world.accept("order-1001");
    writeLateOnce(world.store, "EmailDeliveryStarted");
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    expect((await lastEvent(id)).data).toMatchObject({ reason: "store_unavailable", ambiguous: false });
    expect(world.relay.sent).toHaveLength(0);
  });

  test("at a claim that was written anyway: it is released, not ambiguous and not burnt", async () => {
    const id = await world.accept("order-1001");
    failAfterAppendOnce(world.store, "EmailDeliveryStarted");
    const instance = await world.start();
    await until(() => instance.failures.length > 0, "the failure report");
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    const facts = { reason: "store_unavailable", attemptBurnt: false, ambiguous: false };
    expect((await lastEvent(id)).data).toMatchObject(facts);
    expect(world.relay.sent).toHaveLength(0);
    world.pass(30 * SECOND_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
    expect(world.relay.sent).toHaveLength(1);
  });

  test("at a claim that another worker has made meanwhile: that claim stays", async () => {
    const id = await world.accept("order-1001");
    const claim = { attempt: 1, worker: "other", leaseMs: LEASE_MS, transport: "smtp" };
    world.store.beforeAppend = async () => {
      world.store.beforeAppend = () => {};
      await appendForeign(world, id, { type: "EmailDeliveryStarted", data: claim });
      throw new StoreError("outcomeUnknown", "no answer");
    };
    const instance = await world.start();
    await until(() => instance.failures.length > 0, "the failure report");
    expect((await world.events(id)).slice(2)).toEqual([{ type: "EmailDeliveryStarted", data: claim }]);
    expect(world.relay.sent).toHaveLength(0);
  });

  test("at the outcome: retried until it is in the log, and sent once", async () => {
    const id = await world.accept("order-1001");
    let faults = 0;
    world.store.beforeAppend = (_, types) => {
      if (!types.includes("EmailSent") || faults === 2) return;
      faults += 1;
      throw unavailable();
    };
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    expect(faults).toBe(2);
    expect(instance.failures.map((failure) => failure.id)).toEqual([id, id]);
    expect(world.relay.sent).toHaveLength(1);
  });

  test("at an outcome that was written anyway: it is in the log once", async () => {
    const id = await world.accept("order-1001");
    failAfterAppendOnce(world.store, "EmailSent");
    const instance = await world.start();
    await until(() => instance.failures.length > 0, "the failure report");
    await world.settle();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    expect(world.relay.sent).toHaveLength(1);
  });

  test("between claim and send: the claim is released, not ambiguous and not burnt", async () => {
    const id = await world.accept("order-1001");
    let faults = 0;
    world.store.beforeRead = (stream) => {
      if (!stream.startsWith("suppression-") || faults > 0) return;
      faults += 1;
      throw unavailable();
    };
    await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    const facts = { reason: "store_unavailable", attemptBurnt: false, ambiguous: false };
    expect((await lastEvent(id)).data).toMatchObject(facts);
    world.pass(30 * SECOND_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
    expect(world.relay.sent).toHaveLength(1);
  });

  test("with a late answer: a message that became due again meanwhile is not forgotten", async () => {
    const id = await world.accept("order-1001");
    const answer = gate<void>();
    world.relay.answer = (_, nth) => (nth === 1 ? refused("rcpt", "451 4.7.1 later") : ACCEPTED);
    world.store.afterAppend = (_, types) => (types.includes("EmailDeferred") ? answer.promise : undefined);
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    await instance.caughtUp();
    world.pass(HOUR_MS);
    await quietTime(300);
    expect(world.relay.sent).toHaveLength(1);
    answer.resolve();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
  });

  test("that lasts: the message is retried without a new event in the log", async () => {
    const id = await world.accept("order-1001");
    let isUnavailable = true;
    let reads = 0;
    world.store.beforeRead = (stream) => {
      if (!isUnavailable || !stream.startsWith("email-")) return;
      reads += 1;
      throw unavailable();
    };
    await world.start({ sessionsMax: 2, hasAccepted: false });
    await until(() => reads >= 3, "three reads of the message");
    isUnavailable = false;
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("that makes one message unreadable delays neither delivery nor the expiry of leases", async () => {
    const damaged = await world.accept("damaged");
    const claim = { attempt: 1, worker: "dead", leaseMs: LEASE_MS, transport: "smtp" };
    await appendForeign(world, damaged, { type: "EmailDeliveryStarted", data: claim });
    const claimed = await world.accept("claimed");
    await appendForeign(world, claimed, { type: "EmailDeliveryStarted", data: claim });
    const waiting = await world.accept("waiting");
    world.store.beforeRead = (stream) => {
      if (stream === `email-${damaged}`) throw new Error("event EmailQueued cannot be read");
    };
    const instance = await world.start();
    await world.untilEvents(waiting, "EmailDeliveryStarted", "EmailSent");
    await world.settle();
    world.pass(LEASE_MS);
    await world.untilEvents(
      claimed,
      "EmailDeliveryStarted",
      "EmailDeferred",
      "EmailDeliveryStarted",
      "EmailSent",
    );
    expect(instance.failures.every(({ id }) => id === damaged)).toBe(true);
  });
});
