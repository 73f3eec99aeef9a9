import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { attachmentUse } from "../../../projections/attachmentUse.ts";
import { emails } from "../../../projections/emails/emails.ts";
import { erasures } from "../../../projections/erasures.ts";
import { projections } from "../../../projections/index.ts";
import { contentCleanupCheckpointFile } from "../../../src/adapters/system/contentCleanupCheckpointFile.ts";
import { checkAttachment } from "../../../src/commands/attachment/checkAttachment.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import { recordEmailFeedback } from "../../../src/commands/email/feedback/recordEmailFeedback.ts";
import { readEmailState } from "../../../src/commands/email/readEmail.ts";
import { rescheduleEmail } from "../../../src/commands/email/rescheduleEmail.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { readErasure, requestPersonErasure } from "../../../src/commands/erasure/erasureRequests.ts";
import {
  addSuppression,
  removeSuppression,
} from "../../../src/commands/suppression/addOrRemoveSuppression.ts";
import { attachmentStream } from "../../../src/domain/attachment/events.ts";
import { type EmailEvent, emailStream } from "../../../src/domain/email/events.ts";
import { suppressionStream } from "../../../src/domain/suppression/events.ts";
import { DAY_MS } from "../../../src/kernel/time.ts";
import { type EventStore, LOG_START, type Position, StoreError } from "../../../src/ports/eventStore.ts";
import type { ReadDatabase } from "../../../src/ports/readDatabase.ts";
import { emailContentRetention } from "../../../src/reactors/content/emailContentRetention.ts";
import { ERASING_TYPES, erasedContentCleanup } from "../../../src/reactors/content/erasedContentCleanup.ts";
import { personErasure } from "../../../src/reactors/erasure/personErasure.ts";
import type { PollingWorker } from "../../../src/reactors/worker/pollingWorker.ts";
import { addressOf } from "../../support/addressOf.ts";
import { direct, txt } from "../../support/files/uploadFiles.ts";
import { setLimits } from "../../support/limits.ts";
import { startTestInstance } from "../../support/testInstance.ts";
import { until } from "../../support/until.ts";
import { attachmentWorld } from "../attachment/attachmentFixtures.ts";

setDefaultTimeout(60_000);

const SENDER = "shop@example.com";
const sent: readonly EmailEvent[] = [
  { type: "EmailDeliveryStarted", data: { attempt: 1, worker: "w", leaseMs: 1, transport: "outbox" } },
  { type: "EmailSent", data: { attempt: 1, transport: "outbox", reply: "250 ok" } },
];

/** A log with people in it, its read models, and a way to send. */
async function startWorld() {
  const world = await attachmentWorld();
  const instance = await startTestInstance({
    store: world.store,
    projections: [emails, erasures, attachmentUse],
    workersOf: () => [],
  });
  const { readers } = instance;
  const { directory } = instance.storage;
  let [sends, reads] = [0, 0];
  return {
    ...world,
    readers,
    directory,
    areCaughtUp: instance.isCaughtUp,
    /** How often retention has run its query. */
    get reads() {
      return reads;
    },
    watchedEmails(): ReadDatabase {
      const db = readers.reader("emails");
      const all: ReadDatabase["all"] = (...query) => {
        reads += 1;
        return db.all(...query);
      };
      return { ...db, all };
    },
    async send(
      to: string,
      parts: {
        readonly uploads?: readonly string[];
        readonly files?: number;
        readonly scheduledAt?: number;
      } = {},
    ) {
      sends += 1;
      const { filename, content_type: contentType, content } = direct(txt(20));
      const result = await sendEmail(world.deps, {
        workspaceId: world.workspaceId,
        idempotencyKey: `erasure-${sends}`,
        comparable: { sends },
        from: addressOf(SENDER),
        to: addressOf(to),
        content: { from: SENDER, to, subject: "Hello", text: "Hello" },
        template: null,
        ...(parts.scheduledAt === undefined ? {} : { scheduledAt: parts.scheduledAt }),
        attachments: [
          ...(parts.uploads ?? []).map((id) => ({ kind: "upload" as const, id })),
          ...Array.from({ length: parts.files ?? 0 }, () => {
            return { kind: "direct" as const, filename, contentType, content };
          }),
        ],
        context: world.context(),
      });
      if (result.kind !== "accepted") throw new Error(`not accepted: ${JSON.stringify(result)}`);
      return result.receipt.id;
    },
    async readyUpload() {
      const id = await world.uploaded();
      await checkAttachment(world.deps, id, world.context(), new AbortController().signal);
      return id;
    },
    async end() {
      await instance.stop();
      await world.close();
    },
  };
}
type World = Awaited<ReturnType<typeof startWorld>>;

/** The services of a process that dies at its `calls`-th call of the log, the content store or the outbox. */
function crashing(deps: Dependencies, calls: number) {
  let left = calls;
  const alive = <Args extends readonly unknown[], Result>(call: (...args: Args) => Result) => {
    return (...args: Args): Result => {
      left -= 1;
      if (left < 0) throw new StoreError("unavailable", "the process was killed");
      return call(...args);
    };
  };
  const { store, content } = deps;
  const crashingStore: EventStore = {
    ...store,
    append: alive(async (...args) => store.append(...args)),
    read: alive(async (...args) => store.read(...args)),
    truncateBefore: alive(async (...args) => store.truncateBefore(...args)),
    purge: alive(async (...args) => store.purge(...args)),
  };
  const removed: string[] = [];
  const crashingDeps: Dependencies = {
    ...deps,
    store: crashingStore,
    content: { ...content, removeOwner: alive(async (owner) => content.removeOwner(owner)) },
    outbox: {
      remove: alive(async (id) => {
        removed.push(id);
        return true;
      }),
    },
  };
  return { deps: crashingDeps, removed, isDead: () => left < 0 };
}

type Watching = Pick<World, "readers"> & Pick<Parameters<typeof personErasure>[0], "areCaughtUp">;

function worker(world: Watching, deps: Dependencies, failures: unknown[] = []): PollingWorker {
  return personErasure({
    deps,
    erasures: world.readers.reader("erasures"),
    emails: world.readers.reader("emails"),
    attachmentUse: world.readers.reader("attachment-use"),
    areCaughtUp: world.areCaughtUp,
    emptyWriteAheadLogs: async () => [],
    worker: "test",
    random: () => 0,
    onTrouble: (error) => failures.push(error),
  });
}

/** A person with mail in every state, another person, and a request to erase the first. */
async function worldWithPeople() {
  const world = await startWorld();
  const upload = await world.readyUpload();
  const shared = await world.readyUpload();
  const waiting = await world.send("ana@example.org", { uploads: [upload, shared], files: 1 });
  const delivered = await world.send("Ana@example.org");
  await world.addEmailEvents(delivered, ...sent);
  const other = await world.send("ben@example.org", { uploads: [shared] });
  const { deps, workspaceId } = world;
  const ana = { address: addressOf("ana@example.org"), note: "asked" };
  await addSuppression(deps, ana, world.context());
  await removeSuppression(deps, ana.address, world.context());
  await addSuppression(deps, ana, world.context());
  const requestId = await requestPersonErasure(deps, ana.address, world.context());
  const firstOf = async (stream: string) => (await world.store.read(stream, 0, 1))[0];
  return {
    world,
    requestId,
    isCompleted: async () => (await readErasure(world.store, requestId))?.erasure.status === "completed",
    /** Checks that nothing of the person and everything of the other is left, and that the report says so. */
    async check() {
      for (const id of [waiting, delivered]) {
        expect((await firstOf(emailStream(id)))?.revision).toBe(1);
        expect(await world.folders(id)).toBe(0);
      }
      expect((await readEmailState(world.store, waiting))?.status).toBe("canceled");
      expect((await firstOf(attachmentStream(upload)))?.type).toBe("AttachmentErased");
      const hash = deps.keys.hashAddress(workspaceId, ana.address.canonical);
      expect((await firstOf(suppressionStream(hash)))?.type).toBe("RecipientSuppressed");
      expect((await firstOf(emailStream(other)))?.revision).toBe(0);
      expect((await firstOf(attachmentStream(shared)))?.type).toBe("AttachmentUploaded");
      expect(await world.folders(other)).toBe(1);
      expect([...world.storage.held.keys()]).toEqual([attachmentStream(shared)]);
      const { erasure } = (await readErasure(world.store, requestId)) ?? {};
      expect(erasure).toMatchObject({
        status: "completed",
        remains: [],
        counts: {
          messagesErased: 2,
          messagesCanceled: 1,
          messagesErasedBefore: 0,
          messagesWithFiles: 1,
          outboxMessages: 1,
          uploadsErased: 1,
          uploadsKept: [shared],
          suppressionsErased: 1,
        },
      });
    },
  };
}

describe("a request to erase a person", () => {
  test("is finished by the next worker, wherever the previous one died", async () => {
    let crashes = 0;
    for (let calls = 0; ; calls += 1) {
      const { world, isCompleted, check } = await worldWithPeople();
      const first = crashing(world.deps, calls);
      const dead = worker(world, first.deps);
      dead.start();
      await until(async () => first.isDead() || (await isCompleted()), "the first worker to stop");
      await dead.stop(0);
      const hasFinished = !first.isDead();
      const second = worker(world, {
        ...world.deps,
        outbox: crashing(world.deps, 1_000).deps.outbox,
      });
      second.start();
      await until(isCompleted, "the second worker to finish");
      await second.stop(5_000);
      await check();
      await world.end();
      if (hasFinished) break;
      crashes += 1;
    }
    expect(crashes).toBeGreaterThan(40);
  });

  test("also erases an address that a late bounce of the person's mail brings back", async () => {
    const world = await startWorld();
    const { deps, store, workspaceId } = world;
    const ana = addressOf("ana@example.org");
    const id = await world.send(ana.canonical);
    await world.addEmailEvents(id, ...sent);
    const stream = suppressionStream(deps.keys.hashAddress(workspaceId, ana.canonical));
    const erased = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    // Has read the message, and is delayed before it writes, for example by an unavailable store.
    const late: EventStore = {
      ...store,
      async append(...args) {
        if (args[0] === stream) {
          reached.resolve();
          await erased.promise;
        }
        return store.append(...args);
      },
    };
    const bounce = { kind: "hard", reason: "recipient_address_rejected", code: 550 } as const;
    const report = { kind: "bounced", bounce, diagnostic: "550 no such user" } as const;
    const recording = recordEmailFeedback({ ...deps, store: late, bounceDomains: false }, id, report, {
      source: "return_path",
      at: deps.clock.now(),
      actor: "test",
      correlationId: "test",
    });
    await reached.promise;
    const requestId = await requestPersonErasure(deps, ana, world.context());
    const one = worker(world, deps);
    one.start();
    const isCompleted = async () => (await readErasure(store, requestId))?.erasure.status === "completed";
    await until(isCompleted, "the erasure to be completed");
    await one.stop(5_000);
    erased.resolve();
    expect(await recording).toBe("recorded");
    const events = await store.read(stream, 0, 10);
    expect(events.map(({ type }) => type)).toEqual(["RecipientSuppressed", "SuppressionAddressErased"]);
    expect(JSON.stringify(events)).not.toContain("ana@");
    await world.end();
  });

  test("erases all other messages although one message's files cannot be removed, and completes later", async () => {
    const world = await startWorld();
    const { deps, store } = world;
    const ids = [1, 2, 3].map(() => world.send("ana@example.org", { files: 1 }));
    const [, broken = ""] = await Promise.all(ids);
    const requestId = await requestPersonErasure(deps, addressOf("ana@example.org"), world.context());
    let isBroken = true;
    const content: Dependencies["content"] = {
      ...deps.content,
      async removeOwner(owner) {
        if (isBroken && owner.ownerId === broken)
          throw new StoreError("unavailable", "its folder is read-only");
        return deps.content.removeOwner(owner);
      },
    };
    const failures: unknown[] = [];
    const one = worker(world, { ...deps, content }, failures);
    one.start();
    await until(() => failures.length > 0, "the fault to be reported");
    expect(String(failures[0])).toMatch(
      new RegExp(`message ${broken} could not be erased: .*its folder is read-only`),
    );
    for (const id of await Promise.all(ids)) {
      expect((await readEmailState(store, id))?.contentErased).toBe(true);
      // Nothing of it is in the log either.
      expect((await store.read(emailStream(id), 0, 1))[0]?.revision).toBe(1);
      if (id !== broken) expect(await world.folders(id)).toBe(0);
    }
    expect((await readErasure(store, requestId))?.erasure.status).toBe("requested");
    isBroken = false;
    await until(async () => {
      world.pass(1_000);
      one.wake();
      return (await readErasure(store, requestId))?.erasure.status === "completed";
    }, "the erasure to be completed");
    await one.stop(5_000);
    expect(await world.folders(broken)).toBe(0);
    expect((await readErasure(store, requestId))?.erasure.counts).toMatchObject({ messagesErased: 3 });
    await world.end();
  });

  test("stops at a content store that lets every message wait, rather than wait for each", async () => {
    const world = await startWorld();
    const { deps } = world;
    for (let nth = 0; nth < 10; nth += 1) await world.send("ana@example.org");
    await requestPersonErasure(deps, addressOf("ana@example.org"), world.context());
    let calls = 0;
    const content: Dependencies["content"] = {
      ...deps.content,
      async removeOwner() {
        calls += 1;
        world.pass(20_000);
        throw new StoreError("unavailable", "no answer in time");
      },
    };
    const failures: unknown[] = [];
    const one = worker(world, { ...deps, content }, failures);
    one.start();
    await until(() => failures.length > 0, "the walk to end");
    // Each message asks twice: in its erasure, and for what that has left.
    expect(calls).toBeLessThanOrEqual(4);
    await one.stop(5_000);
    await world.end();
  });

  test("does not hold up the stop of an instance whose read models are behind", async () => {
    const { world, requestId } = await worldWithPeople();
    const asked = Promise.withResolvers<void>();
    const areCaughtUp = (signal: AbortSignal) => {
      asked.resolve();
      return new Promise<boolean>((resolve) => signal.addEventListener("abort", () => resolve(false)));
    };
    const one = worker({ ...world, areCaughtUp }, world.deps);
    one.start();
    await asked.promise;
    await one.stop(60_000);
    expect((await readErasure(world.store, requestId))?.erasure.status).toBe("requested");
    await world.end();
  });

  test("does not hold up the stop of an instance that has many messages to erase", async () => {
    const world = await startWorld();
    const { deps, store } = world;
    for (let nth = 0; nth < 3; nth += 1) await world.send("ana@example.org");
    const requestId = await requestPersonErasure(deps, addressOf("ana@example.org"), world.context());
    const removal = Promise.withResolvers<void>();
    const removed = new Set<string>();
    const content: Dependencies["content"] = {
      ...deps.content,
      removeOwner(owner) {
        removed.add(owner.ownerId);
        return removal.promise;
      },
    };
    const failures: unknown[] = [];
    const one = worker(world, { ...deps, content }, failures);
    one.start();
    await until(() => removed.size === 1, "the first message");
    const stopped = one.stop(60_000);
    removal.resolve();
    await stopped;
    expect(removed.size).toBe(1);
    expect(failures).toEqual([]);
    expect((await readErasure(store, requestId))?.erasure.status).toBe("requested");
    await world.end();
  });

  test("does not wait for many requests of another workspace", async () => {
    const world = await startWorld();
    const { deps, store } = world;
    const ask = (name: string, workspaceId: string) =>
      requestPersonErasure(deps, addressOf(`${name}@example.org`), { ...world.context(), workspaceId });
    for (let nth = 0; nth < 300; nth += 1) await ask(`p${nth}`, "0-many");
    const single = await ask("ana", "1-other");
    await world.areCaughtUp();
    let applied = 0;
    const counting: EventStore = {
      ...store,
      async append(...args) {
        if (args[1].some(({ type }) => type === "ErasureApplied")) {
          applied += 1;
          // As long as a message of each takes to be erased.
          world.pass(200);
        }
        return store.append(...args);
      },
    };
    const one = worker(world, { ...deps, store: counting });
    one.start();
    const isCompleted = async () => (await readErasure(store, single))?.erasure.status === "completed";
    await until(async () => {
      one.wake();
      return isCompleted();
    }, "the single request to be completed");
    expect(applied).toBeLessThan(150);
    await one.stop(5_000);
    await world.end();
  });

  test("can be worked on by several workers at once", async () => {
    const { world, isCompleted, check } = await worldWithPeople();
    const failures: unknown[] = [];
    const workers = [1, 2, 3].map(() => worker(world, world.deps, failures));
    for (const one of workers) one.start();
    await until(isCompleted, "the request to be completed");
    for (const one of workers) await one.stop(5_000);
    await check();
    expect(failures).toEqual([]);
    await world.end();
  });

  test("purges the disks again while something remains there, and reports what if that does not end", async () => {
    const { world, requestId, isCompleted } = await worldWithPeople();
    let purges = 0;
    const store: EventStore = {
      ...world.store,
      async purge() {
        purges += 1;
        return { remains: ["a chunk"] };
      },
    };
    const failures: unknown[] = [];
    const one = worker(world, { ...world.deps, store }, failures);
    one.start();
    await until(async () => {
      // Far less than its time limit, more than its first rest.
      world.pass(purges === 0 ? 0 : 1_000);
      one.wake();
      return purges >= 2;
    }, "a second purge");
    expect(await isCompleted()).toBe(false);
    await until(async () => {
      world.pass(5 * 60_000);
      one.wake();
      return isCompleted();
    }, "the purge to time out");
    await one.stop(5_000);
    expect((await readErasure(world.store, requestId))?.erasure.remains).toEqual(["a chunk"]);
    expect(failures).toEqual([]);
    await world.end();
  });
});

describe("what was erased", () => {
  const startEraser = (
    path: string,
    deps: Dependencies,
    failures: unknown[] = [],
    noneUntil: (position: Position) => Position | null = () => null,
  ) => {
    const eraser = erasedContentCleanup({
      deps,
      checkpoint: contentCleanupCheckpointFile(path, "log"),
      noneUntil,
      worker: "test",
      intervalMs: 5,
      onTrouble: (error, id) => failures.push([id, error]),
    });
    eraser.start();
    return eraser;
  };
  const erased: EmailEvent = { type: "EmailContentErased", data: { reason: "requested" } };
  const isCleared = async (world: World, id: string) =>
    (await world.store.read(emailStream(id), 0, 1))[0]?.revision === 1 && (await world.folders(id)) === 0;

  test("is cleared once by every instance, and not again after a restart", async () => {
    const world = await startWorld();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(await world.send("ana@example.org", { files: 1 }));
    for (const id of ids) await world.addEmailEvents(id, ...sent, erased);
    const otherMessage = await world.send("ana@example.org", { files: 1 });
    for (const instance of ["a", "b"]) {
      const path = join(world.directory, `${instance}.json`);
      for (const expected of [ids, []]) {
        const { deps, removed } = crashing(world.deps, Number.POSITIVE_INFINITY);
        const eraser = startEraser(path, deps);
        const head = await world.store.head();
        await until(
          () => contentCleanupCheckpointFile(path, "log").load() >= head || removed.length > ids.length,
          "the head",
        );
        await eraser.stop();
        expect(removed).toEqual([...expected]);
      }
    }
    for (const id of ids) expect(await isCleared(world, id)).toBe(true);
    expect(await isCleared(world, otherMessage)).toBe(false);
    await world.end();
  });

  test.each([
    ["whose events are damaged", new Error("its events are damaged")],
    ["whose files cannot be reached", new StoreError("unavailable", "its folder cannot be read")],
  ])("is cleared once that works again, and a message %s delays no other", async (_, fault) => {
    const world = await startWorld();
    const [broken, sound] = [await world.send("ana@example.org"), await world.send("ana@example.org")];
    for (const id of [broken, sound]) await world.addEmailEvents(id, ...sent, erased);
    const path = join(world.directory, "c.json");
    let isBroken = true;
    const store: EventStore = {
      ...world.store,
      async read(stream, ...rest) {
        if (isBroken && stream === emailStream(broken)) throw fault;
        return world.store.read(stream, ...rest);
      },
    };
    const failures: unknown[] = [];
    const eraser = startEraser(path, { ...world.deps, store }, failures);
    await until(() => isCleared(world, sound), "the sound request to complete");
    await until(() => {
      world.pass(100);
      return failures.length > 1;
    }, "the broken request to be retried");
    expect(await isCleared(world, broken)).toBe(false);
    // After a restart it starts with what was left.
    await eraser.stop();
    const [first] = await world.store.read(emailStream(broken), 2, 10);
    expect(contentCleanupCheckpointFile(path, "log").load() < (first?.position ?? LOG_START)).toBe(true);
    isBroken = false;
    const next = startEraser(path, { ...world.deps, store });
    await until(() => isCleared(world, broken), "the broken request to complete");
    await next.stop();
    await world.end();
  });

  test("is looked for only in the part of the log in which the follower has seen an erasure, or which it has not seen", async () => {
    const world = await startWorld();
    const [before, after] = [await world.send("ana@example.org"), await world.send("ana@example.org")];
    await world.addEmailEvents(before, ...sent, erased);
    const seen = await world.store.head();
    const readFrom: Position[] = [];
    const store: EventStore = {
      ...world.store,
      readAll(from, ...rest) {
        readFrom.push(from);
        return world.store.readAll(from, ...rest);
      },
    };
    const path = join(world.directory, "e.json");
    let rounds = 0;
    let hasSeenAll = false;
    const eraser = startEraser(path, { ...world.deps, store }, [], (position) => {
      rounds += 1;
      return position < seen || hasSeenAll ? null : position;
    });
    await until(async () => (await isCleared(world, before)) && rounds > 5, "rounds without an erasure");
    expect(readFrom).toEqual([LOG_START]);
    await world.addEmailEvents(after, ...sent, erased);
    hasSeenAll = true;
    await until(() => isCleared(world, after), "the erasure that the follower has seen");
    expect(readFrom[1]).toBe(seen);
    await eraser.stop();
    await world.end();
  });

  test("is of types that the follower of the read models sees", () => {
    const followed = new Set(projections.flatMap(({ events }) => events));
    expect(ERASING_TYPES.filter((type) => !followed.has(type))).toEqual([]);
  });

  test("is walked from the start when the checkpoint belongs to another log or is past its end", async () => {
    const world = await startWorld();
    const path = join(world.directory, "d.json");
    const file = contentCleanupCheckpointFile(path, "log");
    expect(file.load()).toBe(LOG_START);
    file.save("9".repeat(16) as Position);
    expect(contentCleanupCheckpointFile(path, "log").load()).toBe("9".repeat(16) as Position);
    expect(contentCleanupCheckpointFile(path, "other").load()).toBe(LOG_START);
    const id = await world.send("ana@example.org");
    await world.addEmailEvents(id, ...sent, erased);
    const eraser = startEraser(path, world.deps);
    await until(() => isCleared(world, id), "the request to complete");
    await eraser.stop();
    await world.end();
  });
});

describe("content retention", () => {
  const retaining = (world: World, deps: Dependencies = world.deps, failures: unknown[] = []) => {
    const retention = emailContentRetention({
      deps,
      emails: world.watchedEmails(),
      worker: "test",
      random: () => 0,
      intervalMs: 5,
      onTrouble: (error) => failures.push(error),
    });
    retention.start();
    return retention;
  };
  const isErased = async (world: World, id: string) =>
    (await readEmailState(world.store, id))?.erasedFor?.reason === "retention";

  test("erases only ended messages past their workspace's current retention days", async () => {
    const world = await startWorld();
    const [waiting, old] = [
      await world.send("a@example.org", { files: 1 }),
      await world.send("b@example.org", { files: 1 }),
    ];
    await world.addEmailEvents(old, ...sent);
    world.pass(29 * DAY_MS);
    const recentMessage = await world.send("c@example.org");
    await world.addEmailEvents(recentMessage, ...sent);
    const before = world.reads;
    const retention = retaining(world);
    await until(() => world.reads > before + 3, "a few checks");
    expect(await isErased(world, old)).toBe(false);
    world.pass(DAY_MS);
    await until(() => isErased(world, old), "the old message to be erased");
    expect(await world.folders(old)).toBe(0);
    expect([...world.storage.held.keys()].some((holder) => holder.startsWith(emailStream(old)))).toBe(false);
    expect((await world.store.read(emailStream(old), 0, 1))[0]?.revision).toBe(1);
    expect(await isErased(world, waiting)).toBe(false);
    // The operator sets one day, which from now on applies to existing messages too.
    await setLimits(world.deps, world.workspaceId, { contentRetentionDays: 1 });
    world.deps.workspaces.forget(world.workspaceId);
    await until(() => isErased(world, recentMessage), "the recent message to be erased");
    // A message that ends late is erased once it has ended.
    await world.addEmailEvents(waiting, ...sent);
    await until(() => isErased(world, waiting), "the message that waited to be erased");
    await retention.stop();
    await world.end();
  });

  test("counts from the scheduled time, as last changed, and others do not wait for scheduled messages", async () => {
    const world = await startWorld();
    await setLimits(world.deps, world.workspaceId, { contentRetentionDays: 1 });
    const scheduledAt = world.context().at + 2 * DAY_MS;
    const scheduled: string[] = [];
    // More than a page.
    for (let count = 0; count < 520; count += 1) {
      scheduled.push(await world.send("a@example.org", { scheduledAt }));
    }
    const [moved = ""] = scheduled;
    const movedTo = world.context().at + 4 * DAY_MS;
    expect(await rescheduleEmail(world.deps, moved, movedTo, world.context())).toBe("rescheduled");
    world.pass(1);
    const unscheduled = await world.send("b@example.org");
    world.pass(2 * DAY_MS);
    for (const id of [...scheduled, unscheduled]) await world.addEmailEvents(id, ...sent);
    const retention = retaining(world);
    await until(() => isErased(world, unscheduled), "the message without a scheduled time to be erased");
    const before = world.reads;
    await until(() => world.reads > before + 3, "a few checks");
    const erasedOnes = await Promise.all(scheduled.map((id) => isErased(world, id)));
    expect(erasedOnes.filter((one) => one)).toEqual([]);

    world.pass(DAY_MS);
    const [last = ""] = scheduled.slice(-1);
    await until(() => isErased(world, last), "the scheduled messages to be erased");
    expect(await isErased(world, moved)).toBe(false);
    world.pass(2 * DAY_MS);
    await until(() => isErased(world, moved), "the message that was moved to be erased");
    await retention.stop();
    await world.end();
  });

  test("works through more than a page, with several instances at once, each message once", async () => {
    const world = await startWorld();
    const ids: string[] = [];
    for (let count = 0; count < 520; count += 1) ids.push(await world.send("a@example.org"));
    for (const id of ids) await world.addEmailEvents(id, ...sent);
    world.pass(31 * DAY_MS);
    const failures: unknown[] = [];
    const workers = [retaining(world, world.deps, failures), retaining(world, world.deps, failures)];
    await until(async () => {
      const all = await Promise.all(ids.map((id) => isErased(world, id)));
      return all.every((one) => one);
    }, "all of them to be erased");
    for (const one of workers) await one.stop();
    for (const id of ids) {
      const types = await world.types(emailStream(id));
      expect(types.filter((type) => type === "EmailContentErased")).toHaveLength(1);
    }
    expect(failures).toEqual([]);
    await world.end();
  });
});
