import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createDependencies } from "../../../src/commands/createDependencies.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import type { ListedAcceptance } from "../../../src/commands/email/send/knownAcceptances.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { parseAddress } from "../../../src/kernel/text/emailAddress.ts";
import { epochMs } from "../../../src/kernel/time.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";
import { settleAfter } from "../../support/until.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

/** A send, and which streams of messages it made the store append to and read. */
async function send(deps: Dependencies, request: { readonly text: string }) {
  const [appended, read]: [string[], string[]] = [[], []];
  world.store.beforeAppend = (stream) => void (stream.startsWith("email-") && appended.push(stream));
  world.store.beforeRead = (stream) => void (stream.startsWith("email-") && read.push(stream));
  const [from, to] = ["shop@example.com", "ana@example.org"].map(parseAddress);
  if (!from || !to || "invalid" in from || "invalid" in to) throw new Error("no addresses");
  const outcome = await sendEmail(deps, {
    workspaceId: world.workspaceId,
    idempotencyKey: "one-and-the-same",
    comparable: request,
    from,
    to,
    content: { from: from.sent, to: to.sent, subject: "Hello", ...request },
    template: null,
    attachments: [],
    context: { at: world.clock.now(), correlationId: "t", actor: "t", workspaceId: world.workspaceId },
  });
  return { outcome, appends: appended.length, reads: read.length };
}

describe("a send under a key that was used", () => {
  test("costs its instance no access to the log, and gets the answer of the first", async () => {
    const first = await send(world.deps, { text: "Hello." });
    expect(first).toMatchObject({ outcome: { kind: "accepted", replayed: false }, appends: 1, reads: 0 });
    const repeat = await send(world.deps, { text: "Hello." });
    expect<object>(repeat).toEqual({ outcome: { ...first.outcome, replayed: true }, appends: 0, reads: 0 });
    expect(await send(world.deps, { text: "Bye." })).toMatchObject({
      outcome: { kind: "conflict" },
      appends: 0,
      reads: 0,
    });
  });

  test("costs another instance a lost append and a read, and nothing the second time", async () => {
    const first = await send(world.deps, { text: "Hello." });
    const other = createDependencies(world.deps);
    const answered = { ...first.outcome, replayed: true };
    expect(await send(other, { text: "Hello." })).toEqual({ outcome: answered, appends: 1, reads: 1 });
    expect(await send(other, { text: "Hello." })).toEqual({ outcome: answered, appends: 0, reads: 0 });
    expect(await send(other, { text: "Bye." })).toMatchObject({ outcome: { kind: "conflict" }, appends: 0 });
    expect(await send(createDependencies(world.deps), { text: "Bye." })).toMatchObject({
      outcome: { kind: "conflict" },
      appends: 1,
      reads: 1,
    });
  });

  test("while the first is being written waits for it, even if its sender was disabled meanwhile", async () => {
    const [writing, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.store.beforeAppend = (stream) => {
      if (!stream.startsWith("email-")) return;
      writing.resolve();
      return written.promise;
    };
    const first = world.accept("one-and-the-same");
    await writing.promise;
    await world.setSender("SenderDisabled");
    const both = Promise.all([first, world.accept("one-and-the-same")]);
    // A refusal would be here before the first is written.
    await settleAfter(() => {});
    written.resolve();
    const [id, repeated] = await both;
    expect(repeated).toBe(id);
  });

  test("costs another instance that has it listed no access to the log, but changed content costs as usual", async () => {
    const first = await send(world.deps, { text: "Hello." });
    if (first.outcome.kind !== "accepted") throw new Error("the first send was not accepted");
    const { id, status: acceptedAs, acceptedAt } = first.outcome.receipt;
    const known = world.deps.acceptances.find(id, "")?.fingerprint;
    const listedAcceptance: ListedAcceptance = (emailId, fingerprint) =>
      emailId === id && fingerprint === known ? { acceptedAs, acceptedAt: epochMs(acceptedAt) } : null;
    const listing = () => createDependencies({ ...world.deps, listedAcceptance });
    const answered = { ...first.outcome, replayed: true };
    expect<object>(await send(listing(), { text: "Hello." })).toEqual({
      outcome: answered,
      appends: 0,
      reads: 0,
    });
    expect(await send(listing(), { text: "Bye." })).toMatchObject({
      outcome: { kind: "conflict" },
      appends: 1,
      reads: 1,
    });
  });
});
