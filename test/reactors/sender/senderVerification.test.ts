import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { senders } from "../../../projections/senders.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import { confirmVerificationLink } from "../../../src/commands/sender/confirmVerificationLink.ts";
import { markVerified, newSender } from "../../../src/commands/sender/manageSender.ts";
import { readSender } from "../../../src/commands/sender/readSender.ts";
import { requestSenderVerification } from "../../../src/commands/sender/requestSenderVerification.ts";
import { suppressRecipient } from "../../../src/commands/suppression/suppressRecipient.ts";
import { newWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { senderStream } from "../../../src/domain/sender/events.ts";
import { LINK_LIFETIME_MS } from "../../../src/domain/sender/verificationLink.ts";
import { instanceKeys, newDataKey } from "../../../src/kernel/crypto/instanceKeys.ts";
import { newId } from "../../../src/kernel/ids.ts";
import type { MailOutcome } from "../../../src/kernel/outcome/mailOutcome.ts";
import { parseAddress } from "../../../src/kernel/text/emailAddress.ts";
import { HOUR_MS, MINUTE_MS } from "../../../src/kernel/time.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import type { MailMessage } from "../../../src/ports/mail/mailTransport.ts";
import { RelayOutageReports } from "../../../src/reactors/email/relayOutageReports.ts";
import {
  VERIFICATION_LEASE_MS,
  VerificationMailWorker,
} from "../../../src/reactors/sender/verificationMailWorker.ts";
import { testDependencies } from "../../support/testDependencies.ts";
import { startTestInstance } from "../../support/testInstance.ts";
import { until } from "../../support/until.ts";
import {
  ACCEPTED,
  refused,
  type ScriptedRelay,
  scriptedRelay,
  type TestClock,
  testClock,
  type WatchedStore,
  watchedStore,
} from "../email/deliveryFixtures.ts";

const FROM = "postmaster@mail.example.net";
const BASE_URL = "https://mail.example.net";

interface Instance {
  readonly failures: unknown[];
  stop(): Promise<void>;
}

let store: WatchedStore;
let clock: TestClock;
let relay: ScriptedRelay;
let deps: Dependencies;
let workspaceId: string;
let running: Instance[];
const keys = instanceKeys(newDataKey());

/** A separate service over the one log. */
function newDeps(): Dependencies {
  return testDependencies({
    store,
    clock,
    keys,
    disk: { freeBytes: () => 1_000_000 },
    diskFreeBytesMin: 1_000,
  });
}

beforeEach(async () => {
  store = watchedStore();
  clock = testClock();
  relay = scriptedRelay();
  deps = newDeps();
  running = [];
  workspaceId = await newWorkspace(deps, "shop", context());
});
afterEach(async () => {
  for (const instance of running) await instance.stop();
  await store.close();
});

const context = () => ({ at: clock.now(), correlationId: "test", actor: "test", workspaceId });

/** One instance that mails links, with its own read model. */
async function start(worker: string, endedWorker: string | null = null): Promise<Instance> {
  const own = newDeps();
  const failures: unknown[] = [];
  const instance = await startTestInstance({
    store,
    projections: [senders],
    workersOf: (readers) => [
      new VerificationMailWorker({
        relayOutageReports: new RelayOutageReports(deps.clock, () => {}),
        isCaughtUp: () => true,
        deps: own,
        transport: relay.transport(worker, 4),
        mails: readers.reader("senders"),
        from: FROM,
        baseUrl: BASE_URL,
        worker,
        endedWorker,
        onTrouble: (error) => failures.push(error),
      }),
    ],
  });
  const started = { failures, stop: () => instance.stop(0) };
  running.push(started);
  return started;
}

const addressOf = (text: string) => {
  const address = parseAddress(text);
  if ("invalid" in address) throw new Error(address.invalid);
  return address;
};

/** Adds an address and answers its id. */
async function add(text: string, inWorkspace = workspaceId): Promise<string> {
  const name = { kind: "address", address: addressOf(text) } as const;
  const added = await newSender(deps, { workspaceId: inWorkspace, name }, context());
  if (added === null) throw new Error("no such workspace");
  return added.id;
}

async function ask(id: string, through = deps, inWorkspace = workspaceId) {
  const view = await readSender(through, inWorkspace, id);
  if (view === null) throw new Error("no such sender");
  return requestSenderVerification(through, view, { ...context(), workspaceId: inWorkspace });
}

async function requested(text = "shop@example.com"): Promise<string> {
  const id = await add(text);
  expect(await ask(id)).toEqual({ kind: "requested" });
  return id;
}

const eventsOf = async (id: string) => store.read(senderStream(id), 0, 500);
/** Waits until the events about the mail are these. */
const untilMail = (id: string, ...types: readonly string[]) =>
  until(async () => {
    const mail = (await eventsOf(id)).map(({ type }) => type).filter((type) => type.includes("Mail"));
    return mail.join() === types.map((type) => `SenderVerificationMail${type}`).join();
  }, types.join(", "));
const mails = () => relay.sent.map(({ message }) => message);
const tokenIn = (mail: MailMessage) => /verify\/([\w-]+)/.exec(mail.text ?? "")?.[1] ?? "";
const confirm = (mail: MailMessage) => confirmVerificationLink(deps, tokenIn(mail), context());

describe("a verification mail", () => {
  test("is sent once, and its link verifies", async () => {
    const id = await requested("Shop@example.com");
    const instance = await start("w1");
    await untilMail(id, "Started", "Sent");
    expect(mails()).toHaveLength(1);
    const [mail] = mails() as [MailMessage];
    expect(mail).toMatchObject({ from: FROM, to: "Shop@example.com", date: clock.now() });
    expect(mail.messageId).toBe(`<${mail.id}@mail.example.net>`);
    // The log holds no part of the secret: only whoever reads the mailbox has it.
    const log = JSON.stringify((await eventsOf(id)).map(({ data }) => data));
    const secret = Buffer.from(tokenIn(mail), "base64url").subarray(-32);
    expect(log).not.toContain(secret.toString("hex"));
    expect(log).not.toContain(tokenIn(mail).slice(-40));
    expect(await confirm(mail)).toBe("verified");
    expect(await confirm(mail)).toBe("used");
    expect(instance.failures).toEqual([]);
  });

  test("is sent once each by two instances, 19 in all", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 19; index += 1) ids.push(await requested(`box${index}@example.com`));
    await Promise.all([start("w1"), start("w2")]);
    for (const id of ids) await untilMail(id, "Started", "Sent");
    expect(
      mails()
        .map(({ to }) => to)
        .sort(),
    ).toEqual(ids.map((_, index) => `box${index}@example.com`).sort());
  });

  test("whose worker died after its claim is sent by another once the lease has expired, not before", async () => {
    relay.answer = (_, nth) => (nth === 1 ? Promise.withResolvers<MailOutcome>().promise : ACCEPTED);
    const id = await requested();
    const first = await start("w1");
    await until(() => relay.sent.length === 1, "the first attempt");
    await first.stop();
    await start("w2");
    const other = await requested("other@example.com");
    await untilMail(other, "Started", "Sent");
    clock.advance(VERIFICATION_LEASE_MS - 1);
    const third = await requested("third@example.com");
    await untilMail(third, "Started", "Sent");
    expect(mails().filter(({ to }) => to === "shop@example.com")).toHaveLength(1);
    clock.advance(1);
    await untilMail(id, "Started", "Started", "Sent");
    const [one, again] = mails().filter(({ to }) => to === "shop@example.com");
    expect(again).toEqual(one as MailMessage);
    expect(await confirm(again as MailMessage)).toBe("verified");
  });

  test("whose worker is known to have ended is sent by another at once", async () => {
    relay.answer = (_, nth) => (nth === 1 ? Promise.withResolvers<MailOutcome>().promise : ACCEPTED);
    const id = await requested();
    const first = await start("w1");
    await until(() => relay.sent.length === 1, "the first attempt");
    await first.stop();
    await start("w2", "w1");
    await untilMail(id, "Started", "Started", "Sent");
  });

  test("whose claim may or may not be in the log waits for its lease to expire", async () => {
    let failures = 1;
    store.afterAppend = (_, [type]) => {
      if (type !== "SenderVerificationMailStarted" || failures === 0) return;
      failures -= 1;
      throw new StoreError("outcomeUnknown", "outcome unknown");
    };
    const id = await requested();
    const instance = await start("w1");
    await until(() => instance.failures.length === 1, "the failure report");
    const other = await requested("other@example.com");
    await untilMail(other, "Started", "Sent");
    expect(mails().map(({ to }) => to)).toEqual(["other@example.com"]);
    clock.advance(VERIFICATION_LEASE_MS);
    await untilMail(id, "Started", "Started", "Sent");
  });

  test("is not sent again when its outcome cannot be recorded at once", async () => {
    let failures = 3;
    store.beforeAppend = (_, [type]) => {
      if (type !== "SenderVerificationMailSent" || failures === 0) return;
      failures -= 1;
      throw new StoreError("unavailable", "the store is unavailable");
    };
    const id = await requested();
    const instance = await start("w1");
    await untilMail(id, "Started", "Sent");
    expect(mails()).toHaveLength(1);
    expect(instance.failures).toHaveLength(3);
  });

  test("that is refused temporarily is retried on schedule, byte for byte the same", async () => {
    relay.answer = (_, nth) => (nth < 3 ? refused("rcpt", "450 4.2.0 busy, shop@example.com") : ACCEPTED);
    const id = await requested();
    await start("w1");
    await untilMail(id, "Started", "Failed");
    const { data } = (await eventsOf(id)).at(-1) as { data: object };
    expect(data).toMatchObject({ attempt: 1, reason: "recipient_deferred", code: 450 });
    expect(JSON.stringify(data)).not.toContain("shop");
    clock.advance(MINUTE_MS);
    await untilMail(id, "Started", "Failed", "Started", "Failed");
    clock.advance(2 * MINUTE_MS);
    await untilMail(id, "Started", "Failed", "Started", "Failed", "Started", "Sent");
    for (const mail of mails()) expect(mail).toEqual(mails()[0] as MailMessage);
  });

  test("that is refused permanently is not retried; a new link can be requested later", async () => {
    relay.answer = (_, nth) => (nth === 1 ? refused("rcpt", "550 5.1.1 unknown") : ACCEPTED);
    const id = await requested();
    await start("w1");
    await untilMail(id, "Started", "Failed");
    clock.advance(10 * MINUTE_MS);
    expect(await ask(id)).toEqual({ kind: "requested" });
    await untilMail(id, "Started", "Failed", "Started", "Sent");
    const [one, other] = mails() as [MailMessage, MailMessage];
    expect(tokenIn(one)).not.toBe(tokenIn(other));
    expect(one.messageId).not.toBe(other.messageId);
    // Both links may have been sent; using one invalidates the other.
    expect(await confirm(one)).toBe("verified");
    expect(await confirm(other)).toBe("used");
  });

  test("waits while the relay is unavailable, without a claim", async () => {
    relay.refuse = () => "no route";
    const id = await requested();
    await start("w1");
    await until(() => relay.sessions > 0, "a first attempt");
    relay.refuse = () => null;
    await untilMail(id, "Started", "Sent");
  });

  test("whose link expired before the relay came back is given up", async () => {
    relay.refuse = () => "no route";
    const id = await requested();
    clock.advance(LINK_LIFETIME_MS);
    relay.refuse = () => null;
    await start("w1");
    await untilMail(id, "Failed");
    expect((await eventsOf(id)).at(-1)?.data).toMatchObject({ reason: "expired", attempt: 0 });
    expect(mails()).toEqual([]);
  });

  test("to an address that was suppressed since is not sent", async () => {
    const id = await requested();
    const bounce = {
      emailId: newId(),
      reason: "bounce" as const,
      bounceReason: "recipient_address_rejected",
      code: 550,
    };
    const suppressed = { workspaceId, recipientHash: id, address: "shop@example.com", ...bounce };
    await suppressRecipient(store, suppressed, context());
    await start("w1");
    await untilMail(id, "Started", "Failed");
    expect((await eventsOf(id)).at(-1)?.data).toMatchObject({ reason: "recipient_suppressed" });
    expect(mails()).toEqual([]);
  });

  test("for a sender that the operator has verified since is not sent", async () => {
    const id = await requested();
    await markVerified(deps, id, "operator", context());
    await start("w1");
    const other = await requested("other@example.com");
    await untilMail(other, "Started", "Sent");
    expect(mails().map(({ to }) => to)).toEqual(["other@example.com"]);
    await untilMail(id);
  });
});

describe("two instances that get requests at once", () => {
  const both = () => [newDeps(), newDeps()];
  const outcomes = (results: readonly { readonly kind: string }[]) =>
    results.filter(({ kind }) => kind === "requested");

  test("allow one mail for an address", async () => {
    const id = await add("shop@example.com");
    const [one, other] = both() as [Dependencies, Dependencies];
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, index) => ask(id, index % 2 ? one : other)),
    );
    expect(outcomes(results)).toHaveLength(1);
  });

  test("allow 20 a UTC day for a workspace, whatever it requests", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 30; index += 1) ids.push(await add(`box${index}@example.com`));
    const [one, other] = both() as [Dependencies, Dependencies];
    const results = await Promise.all(ids.map((id, index) => ask(id, index % 2 ? one : other)));
    expect(outcomes(results)).toHaveLength(20);
    const limited = results.find(({ kind }) => kind === "limited");
    expect(limited).toEqual({ kind: "limited", againAt: Date.parse("2030-01-02T00:00:00Z") });
    clock.advance(24 * HOUR_MS);
    const next = await Promise.all(ids.map((id, index) => ask(id, index % 2 ? one : other)));
    expect(outcomes(next)).toHaveLength(20);
  });

  test("allow five a UTC day to each workspace for an address, and 20 to all", async () => {
    const workspaces = [workspaceId];
    for (const name of ["b", "c", "d", "e", "f"]) workspaces.push(await newWorkspace(deps, name, context()));
    const [one, other] = both() as [Dependencies, Dependencies];
    const ids = await Promise.all(
      workspaces.map((workspace, index) =>
        add(index % 2 ? "SHOP@example.com" : "shop@example.com", workspace),
      ),
    );
    const allowed = workspaces.map(() => 0);
    const round = async (senderIds: readonly string[]) => {
      const results = await Promise.all(
        senderIds.map((id, index) => ask(id, index % 2 ? one : other, workspaces[index])),
      );
      results.forEach(({ kind }, index) => {
        if (kind === "requested") allowed[index] = (allowed[index] ?? 0) + 1;
      });
      clock.advance(10 * MINUTE_MS);
    };
    for (let times = 0; times < 8; times += 1) await round(ids.slice(0, 2));
    expect(allowed).toEqual([5, 5, 0, 0, 0, 0]);
    for (let times = 0; times < 8; times += 1) await round(ids);
    expect(allowed.reduce((sum, mails) => sum + mails)).toBe(20);
    expect(Math.min(...allowed)).toBeGreaterThan(0);
    clock.advance(24 * HOUR_MS);
    expect(await ask(ids[1] ?? "", other, workspaces[1])).toEqual({ kind: "requested" });
  });
});
