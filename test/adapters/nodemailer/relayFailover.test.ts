import { afterEach, describe, expect, test } from "bun:test";
import { parseSmtpUrl } from "../../../src/adapters/nodemailer/parseSmtpUrl.ts";
import { type RelayChange, relayFailover } from "../../../src/adapters/nodemailer/relayFailover.ts";
import { createSmtpTransport } from "../../../src/adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../../src/adapters/system/systemClock.ts";
import type { MailMessage, MailSession, MailTransport } from "../../../src/ports/mail/mailTransport.ts";
import { sendWithin } from "../../support/mail/sendWithin.ts";
import { type Sink, type SinkHooks, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { freePort } from "../../support/stores/eventstoredb.ts";

const MESSAGE: MailMessage = {
  id: "6f1c9a52-8d0e-5b7a-9c3f-2f6f0a1b2c3d",
  messageId: "<6f1c9a52-8d0e-5b7a-9c3f-2f6f0a1b2c3d@example.com>",
  date: 0,
  from: "hello@example.com",
  to: "ana@example.org",
  subject: "Hello",
  text: "Hello",
};

const SHUTTING_DOWN = { code: 421, text: "4.3.2 shutting down" };

const changes: RelayChange[] = [];
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function sinkWith(hooks: SinkHooks = {}): Promise<Sink> {
  const sink = await startSmtpSink(hooks);
  opened.push(sink);
  return sink;
}

interface Given {
  readonly port: number;
  readonly order?: number;
  readonly weight?: number;
  readonly connectionsMax?: number;
  readonly messagesPerSecondMax?: number;
}

/** A clock that stands still until it is moved. */
function clockAt() {
  let offset = 0;
  return {
    clock: { ...systemClock, monotonicMs: () => offset },
    pass: (ms: number) => {
      offset += ms;
    },
  };
}

/** Numbers spread evenly over 0 to 1. */
function evenRandom(): () => number {
  let next = 0;
  return () => {
    next = (next + 0.381_966) % 1;
    return next;
  };
}

function failoverOver(
  relays: readonly Given[],
  clock = clockAt().clock,
  random = Math.random,
): MailTransport {
  const transport = relayFailover(
    relays.map(({ port, order = 1, weight = 1, connectionsMax = 5, messagesPerSecondMax = 0 }) => ({
      name: `127.0.0.1:${port}`,
      order,
      weight,
      transport: createSmtpTransport(
        { ...parseSmtpUrl(`smtp://127.0.0.1:${port}`), connectionsMax, messagesPerSecondMax },
        systemClock,
      ),
    })),
    { clock, random, onChange: (change) => changes.push(change) },
  );
  opened.push(transport);
  return transport;
}

async function openSession(transport: MailTransport): Promise<MailSession> {
  const result = await transport.session(AbortSignal.timeout(10_000));
  if (result.kind !== "session") throw new Error(result.reason);
  return result.session;
}

/** Sends one message; answers the outcome's kind and the relay. */
async function send(
  transport: MailTransport,
  preferredRelay?: string,
): Promise<readonly [kind: string, relay?: string | undefined]> {
  const result = await transport.session(AbortSignal.timeout(10_000), preferredRelay);
  if (result.kind !== "session") return [result.kind];
  const { session } = result;
  const { kind } = await session.send(MESSAGE, sendWithin(systemClock, 10_000));
  const { relay } = session;
  session.release();
  return [kind, relay];
}

/** Sends messages with as many workers as the transport has sessions. */
async function sendBacklog(transport: MailTransport, messages: number): Promise<void> {
  let left = messages;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      await send(transport);
    }
  };
  await Promise.all(Array.from({ length: transport.sessionsMax }, work));
}

describe("several relays", () => {
  test("the first gets all mail while it accepts mail", async () => {
    const [first, second] = [await sinkWith(), await sinkWith()];
    const transport = failoverOver([
      { port: second.port, order: 2 },
      { port: first.port, order: 1 },
    ]);
    for (let count = 0; count < 5; count += 1)
      expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${first.port}`]);
    expect(second.record.connections).toBe(0);
  });

  test("with the same order share mail by their weights", async () => {
    const [light, heavy] = [await sinkWith(), await sinkWith()];
    const transport = failoverOver(
      [{ port: light.port }, { port: heavy.port, weight: 9 }],
      clockAt().clock,
      evenRandom(),
    );
    for (let count = 0; count < 60; count += 1) await send(transport);
    expect(heavy.record.messages.length).toBeGreaterThan(45);
    expect(light.record.messages.length).toBeGreaterThan(0);
  });

  test("one that is full leaves its share to another of its order, and gets it again", async () => {
    const [small, large] = [await sinkWith(), await sinkWith()];
    const relays = [{ port: small.port, connectionsMax: 2, weight: 99 }, { port: large.port }];
    // Draws the heavier one.
    const transport = failoverOver(relays, clockAt().clock, () => 0.5);
    const held = [await openSession(transport), await openSession(transport)];
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${large.port}`]);
    for (const session of held) session.release();
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${small.port}`]);
  });

  test("share a backlog by their weights", async () => {
    const [light, heavy] = [await sinkWith(), await sinkWith()];
    const relays = [{ port: light.port }, { port: heavy.port, weight: 9 }];
    const transport = failoverOver(relays, clockAt().clock, evenRandom());
    expect(transport.sessionsMax).toBe(5);
    await sendBacklog(transport, 60);
    expect(heavy.record.messages.length).toBeGreaterThan(45);
    expect(light.record.messages.length).toBeGreaterThan(0);
  });

  test("one that is slow to answer keeps its share of the workers, and leaves the rest to the others", async () => {
    let answer = (): void => undefined;
    const silence = new Promise<undefined>((resolve) => {
      answer = () => resolve(undefined);
    });
    const [slow, fast] = [await sinkWith({ final: () => silence }), await sinkWith()];
    const transport = failoverOver([{ port: slow.port }, { port: fast.port }], clockAt().clock, evenRandom());
    const sending = sendBacklog(transport, 40);
    await fast.until(({ messages }) => messages.length >= 35);
    answer();
    await sending;
    expect(slow.record.messages.length).toBeGreaterThan(0);
    expect(slow.record.connections).toBeLessThan(5);
  });

  test("one with a low rate leaves its share of a backlog to the others", async () => {
    const [slow, fast] = [await sinkWith(), await sinkWith()];
    const relays = [{ port: slow.port, messagesPerSecondMax: 2 }, { port: fast.port }];
    const transport = failoverOver(relays, clockAt().clock, evenRandom());
    await sendBacklog(transport, 40);
    expect(slow.record.messages.length).toBeGreaterThan(0);
    expect(fast.record.messages.length).toBeGreaterThan(25);
  });

  test("one whose only connection waits for the answer to RSET is full", async () => {
    const small = await sinkWith({ rcpt: () => ({ code: 550, text: "5.1.1 nobody" }) });
    const large = await sinkWith();
    const relays = [{ port: small.port, connectionsMax: 1, weight: 99 }, { port: large.port }];
    const transport = failoverOver(relays, clockAt().clock, () => 0.5);
    expect(await send(transport)).toEqual(["refused", `127.0.0.1:${small.port}`]);
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${large.port}`]);
  });

  test("one that fails lets go of messages that wait for its connection", async () => {
    const first = await sinkWith({ mail: () => SHUTTING_DOWN });
    const second = await sinkWith();
    const transport = failoverOver([
      { port: first.port, connectionsMax: 1 },
      { port: second.port, order: 2 },
    ]);
    const failing = await openSession(transport);
    const waiting = [openSession(transport), openSession(transport)];
    await failing.send(MESSAGE, sendWithin(systemClock, 10_000));
    for (const session of await Promise.all(waiting)) expect(session.relay).toBe(`127.0.0.1:${second.port}`);
    expect(first.record.connections).toBe(1);
  });

  test("one that cannot be reached hands over to the next, rests, and is then retried with one message", async () => {
    const port = await freePort();
    const second = await sinkWith();
    const { clock, pass } = clockAt();
    const transport = failoverOver([{ port }, { port: second.port, order: 2 }], clock);
    changes.length = 0;
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${second.port}`]);
    // It would accept mail if it were tried: a relay listens there now.
    const back = await startSmtpSinkOn(port);
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${second.port}`]);
    pass(1_000);
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${port}`]);
    expect(back.record.messages).toHaveLength(1);
    const relay = `127.0.0.1:${port}`;
    expect(changes).toEqual([
      { relay, reason: expect.stringContaining("ECONNREFUSED") },
      { relay, reason: null },
    ]);
  });

  test("one that drops several messages in flight rests as after a single fault", async () => {
    let isDown = true;
    const first = await sinkWith({ rcpt: () => (isDown ? "drop" : undefined) });
    const second = await sinkWith();
    const { clock, pass } = clockAt();
    const transport = failoverOver([{ port: first.port }, { port: second.port, order: 2 }], clock);
    const sessions = [];
    for (let count = 0; count < 3; count += 1) sessions.push(await openSession(transport));
    await Promise.all(sessions.map((session) => session.send(MESSAGE, sendWithin(systemClock, 10_000))));
    for (const session of sessions) session.release();
    expect(second.record.messages).toHaveLength(3);
    isDown = false;
    pass(1_000);
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${first.port}`]);
  });

  test("one that drops a connection is reported only if it does so again after its rest", async () => {
    let drops = 1;
    const first = await sinkWith({ rcpt: () => (drops-- > 0 ? "drop" : undefined) });
    const second = await sinkWith();
    const { clock, pass } = clockAt();
    const transport = failoverOver([{ port: first.port }, { port: second.port, order: 2 }], clock);
    changes.length = 0;
    const sendAfterRest = async () => {
      await send(transport);
      pass(60_000);
    };
    await sendAfterRest();
    await sendAfterRest();
    expect(changes).toEqual([]);
    drops = 2;
    await sendAfterRest();
    expect(changes).toEqual([]);
    await sendAfterRest();
    const relay = `127.0.0.1:${first.port}`;
    expect(changes).toEqual([{ relay, reason: expect.any(String) }]);
    await sendAfterRest();
    expect(changes.at(-1)).toEqual({ relay, reason: null });
  });

  test("one that refuses the log-in is reported at once", async () => {
    const first = await sinkWith({ mail: () => ({ code: 530, text: "5.7.0 log in" }) });
    const second = await sinkWith();
    const transport = failoverOver([{ port: first.port }, { port: second.port, order: 2 }]);
    changes.length = 0;
    await send(transport);
    const relay = `127.0.0.1:${first.port}`;
    expect(changes).toEqual([{ relay, reason: "it answered 530 to mail" }]);
  });

  test("that fail one after the other with one connection each do not make their messages wait for each other", async () => {
    let untilSecond: Promise<void> | undefined;
    const first = await sinkWith({
      mail: async ({ message }) => {
        if (message > 1) return undefined;
        await untilSecond;
        return SHUTTING_DOWN;
      },
    });
    // The first relay's message already waits for the connection to this one.
    const failing = Promise.withResolvers<void>();
    const second = await sinkWith({
      mail: async ({ message }) => {
        if (message > 1) return undefined;
        await failing.promise;
        return SHUTTING_DOWN;
      },
    });
    untilSecond = second.until(({ mails }) => mails === 1);
    const { clock, pass } = clockAt();
    const transport = failoverOver(
      [
        { port: first.port, connectionsMax: 1 },
        { port: second.port, connectionsMax: 1 },
      ],
      clock,
      () => 0.5,
    );
    const sending = [send(transport), send(transport)];
    await first.until(({ connections, connectionsOpen }) => connections === 1 && connectionsOpen === 0);
    // The first relay's rest is over.
    pass(1_000);
    failing.resolve();
    expect(await Promise.all(sending)).toEqual([
      ["refused", `127.0.0.1:${first.port}`],
      ["accepted", `127.0.0.1:${first.port}`],
    ]);
    // The second one's rest is over, and all connections have been given back.
    pass(1_000);
    expect(await Promise.all([send(transport), send(transport)])).toEqual([
      ["accepted", `127.0.0.1:${first.port}`],
      ["accepted", `127.0.0.1:${second.port}`],
    ]);
  });

  test("a message moves to no other relay after its deadline, though the time of day was set back", async () => {
    const first = await sinkWith({ mail: () => SHUTTING_DOWN });
    const second = await sinkWith();
    const clock = { ...systemClock, now: () => Date.now() - 3_600_000 };
    const relays = [{ port: first.port }, { port: second.port, order: 2, connectionsMax: 1 }];
    const transport = failoverOver(relays, clock);
    const sessions = [await openSession(transport), await openSession(transport)];
    // Holds the only connection to the second relay.
    expect(await sessions[0]?.send(MESSAGE, sendWithin(systemClock, 10_000))).toMatchObject({
      kind: "accepted",
    });
    const outcome = await sessions[1]?.send(MESSAGE, sendWithin(systemClock, 2_000));
    expect(outcome).toMatchObject({ kind: "refused", code: 421 });
    for (const session of sessions) session.release();
  });

  test("that are closed while a message waits to move are not reported", async () => {
    const accepting = Promise.withResolvers<undefined>();
    const first = await sinkWith({ mail: () => SHUTTING_DOWN });
    const second = await sinkWith({ final: () => accepting.promise });
    const transport = failoverOver([
      { port: first.port },
      { port: second.port, order: 2, connectionsMax: 1 },
    ]);
    const sessions = [await openSession(transport), await openSession(transport)];
    changes.length = 0;
    const sending = sessions.map((session) => session.send(MESSAGE, sendWithin(systemClock, 10_000)));
    await second.until(({ messages }) => messages.length === 1);
    await first.until(({ connections, connectionsOpen }) => connections === 2 && connectionsOpen === 0);
    const closing = transport.close();
    expect(await Promise.race(sending)).toMatchObject({ kind: "refused", code: 421 });
    accepting.resolve(undefined);
    await Promise.all(sending);
    for (const session of sessions) session.release();
    await closing;
    expect(changes).toEqual([]);
  });

  test.each([
    ["says 421 to MAIL", { mail: () => SHUTTING_DOWN }],
    ["says 421 to DATA", { data: () => SHUTTING_DOWN }],
    ["wants a log-in", { mail: () => ({ code: 530, text: "5.7.0 log in" }) }],
    ["wants another log-in", { mail: () => ({ code: 538, text: "5.7.11 encrypt first" }) }],
    ["drops the connection at RCPT", { rcpt: () => "drop" as const }],
  ] satisfies [string, SinkHooks][])("one that %s hands over to the next", async (_, hooks) => {
    const [first, second] = [await sinkWith(hooks), await sinkWith()];
    const transport = failoverOver([{ port: first.port }, { port: second.port, order: 2 }]);
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${second.port}`]);
    expect(second.record.messages).toHaveLength(1);
  });

  test.each([
    ["refuses the recipient", { rcpt: () => ({ code: 550, text: "5.1.1 nobody" }) }, "refused"],
    ["has it come again", { rcpt: () => ({ code: 451, text: "4.7.1 greylisted" }) }, "refused"],
    ["may have the message", { final: () => "drop" as const }, "unknown"],
  ] satisfies [string, SinkHooks, string][])("one that %s does not hand over", async (_, hooks, kind) => {
    const [first, second] = [await sinkWith(hooks), await sinkWith()];
    const transport = failoverOver([{ port: first.port }, { port: second.port, order: 2 }]);
    expect(await send(transport)).toEqual([kind, `127.0.0.1:${first.port}`]);
    expect(second.record.connections).toBe(0);
  });

  test("one that may have the message gets it again while it accepts mail", async () => {
    const [first, second] = [
      await sinkWith(),
      await sinkWith({ mail: ({ message }) => (message === 1 ? undefined : SHUTTING_DOWN) }),
    ];
    const transport = failoverOver([{ port: first.port }, { port: second.port, order: 2 }]);
    const preferred = `127.0.0.1:${second.port}`;
    expect(await send(transport, preferred)).toEqual(["accepted", preferred]);
    // It takes no mail now.
    expect(await send(transport, preferred)).toEqual(["accepted", `127.0.0.1:${first.port}`]);
    const mails = second.record.mails;
    expect(await send(transport, preferred)).toEqual(["accepted", `127.0.0.1:${first.port}`]);
    expect(second.record.mails).toBe(mails);
  });

  test("another one gets what a relay may have that is no longer configured", async () => {
    const only = await sinkWith();
    const transport = failoverOver([{ port: only.port }, { port: await freePort(), order: 2 }]);
    expect(await send(transport, "relay-a.example:25")).toEqual(["accepted", `127.0.0.1:${only.port}`]);
  });

  test("that are all down are tried again with the next message", async () => {
    const ports = [await freePort(), await freePort()];
    const transport = failoverOver(ports.map((port) => ({ port })));
    expect(await send(transport)).toEqual(["broken"]);
    const back = await startSmtpSinkOn(ports[1] ?? 0);
    expect(await send(transport)).toEqual(["accepted", `127.0.0.1:${back.port}`]);
  });
});

async function startSmtpSinkOn(port: number): Promise<Sink> {
  const sink = await startSmtpSink({}, { disabledCommands: ["AUTH", "STARTTLS"] }, port);
  opened.push(sink);
  return sink;
}
