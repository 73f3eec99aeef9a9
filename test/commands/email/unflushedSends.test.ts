import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { addSuppression } from "../../../src/commands/suppression/addOrRemoveSuppression.ts";
import { parseAddress } from "../../../src/kernel/text/emailAddress.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const RealWorker = globalThis.Worker;
const TIMEOUT_MS = 200;
const FILE = {
  kind: "direct",
  filename: "note.txt",
  contentType: "text/plain",
  content: btoa("Hello."),
} as const;

let folder: string;
let store: EventStore;
let world: DeliveryWorld;
let isDiskFailing: boolean;

beforeEach(async () => {
  folder = temporaryFolder();
  isDiskFailing = false;
  globalThis.Worker = class extends RealWorker {
    override postMessage(message: object): void {
      if ("flush" in message && isDiskFailing)
        this.dispatchEvent(new MessageEvent("message", { data: false }));
      else super.postMessage(message);
    }
  };
  const path = join(folder, "log.db");
  store = openSqliteEventStore({ path, writingThreads: "flushedAside", timeoutMs: TIMEOUT_MS });
  world = await deliveryWorld(store);
});

afterEach(async () => {
  globalThis.Worker = RealWorker;
  await world.close();
  await store.close();
});

function addressOf(text: string) {
  const address = parseAddress(text);
  if (address === null || "invalid" in address) throw new Error(`${text} is not an address`);
  return address;
}

const contextNow = () => {
  const { clock, workspaceId } = world;
  return { at: clock.now(), correlationId: "t", actor: "t", workspaceId };
};

function send(attachments: readonly (typeof FILE)[]) {
  const { deps, workspaceId } = world;
  const [from, to] = [addressOf("shop@example.com"), addressOf("ana@example.org")];
  return sendEmail(deps, {
    workspaceId,
    idempotencyKey: "one-and-the-same",
    comparable: { text: "Hello." },
    from,
    to,
    content: { from: from.sent, to: to.sent, subject: "Hello", text: "Hello." },
    template: null,
    attachments,
    context: contextNow(),
  });
}

test.each([[[]], [[FILE]]])(
  "a repeat of a send that is written but not on disk is not said to be accepted (files: %j)",
  async (files) => {
    world.store.beforeAppend = (stream) => {
      isDiskFailing = stream.startsWith("email-");
    };
    await expect(send(files)).rejects.toMatchObject({ name: "StoreError", failure: "outcomeUnknown" });
    world.store.beforeAppend = () => {};
    await expect(send(files)).rejects.toMatchObject({ name: "StoreError" });
    await expect(send(files)).rejects.toMatchObject({ name: "StoreError" });
    isDiskFailing = false;
    expect(await send(files)).toMatchObject({ kind: "accepted", replayed: true });
  },
);

test("a repeat is not confirmed while the first change is written but not on disk", async () => {
  const suppress = () => {
    const suppression = { address: addressOf("ana@example.org"), note: null };
    return addSuppression(world.deps, suppression, contextNow());
  };
  isDiskFailing = true;
  await expect(suppress()).rejects.toMatchObject({ name: "StoreError", failure: "outcomeUnknown" });
  await expect(suppress()).rejects.toMatchObject({ name: "StoreError" });
  isDiskFailing = false;
  expect(await suppress()).toMatchObject({ isNew: false });
});
