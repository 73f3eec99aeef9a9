import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { deleteAttachment } from "../../../src/commands/attachment/deleteAttachment.ts";
import { uploadFolder } from "../../../src/commands/attachment/readAttachment.ts";
import { readEmail } from "../../../src/commands/email/readEmail.ts";
import { toNewEvents } from "../../../src/commands/transact.ts";
import { attachmentStream } from "../../../src/domain/attachment/events.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { emailId } from "../../../src/domain/email/idempotency.ts";
import type { ContentFolder, FoundFolder } from "../../../src/ports/contentStore.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { CONTENT_SWEEP_AGE_MS } from "../../../src/reactors/content/orphanedContentSweeper.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { until } from "../../support/until.ts";
import { type SweptWorld, sweptWorld } from "./sweeperFixtures.ts";

const MINUTE_MS = 60_000;
const NOTHING = Buffer.from("nobody's");

let world: SweptWorld;
beforeEach(async () => {
  world = await sweptWorld();
});
afterEach(() => world.close());

function newFolder(parts: Partial<ContentFolder> = {}): ContentFolder {
  return {
    workspaceId: world.workspaceId,
    ownerId: crypto.randomUUID(),
    folderId: crypto.randomUUID(),
    ...parts,
  };
}

async function uploaded(): Promise<string> {
  const outcome = await world.upload();
  if (outcome.kind !== "uploaded") throw new Error(outcome.message);
  return outcome.id;
}

describe("a sweep", () => {
  test("removes unreferenced content once it is older than an hour, not before", async () => {
    await world.content.put(newFolder(), NOTHING);
    world.clock.advance(CONTENT_SWEEP_AGE_MS);
    expect(await world.sweeper().sweep()).toEqual({ checked: 0, removed: 0, isComplete: true });
    await world.content.put(newFolder(), NOTHING);
    world.clock.advance(1);
    expect(await world.sweeper().sweep()).toEqual({ checked: 1, removed: 1, isComplete: true });
    expect(await world.files()).toHaveLength(1);
  });

  test("removes nothing while the log is a copy that is held", async () => {
    await world.content.put(newFolder(), NOTHING);
    world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
    let isHeld = true;
    const sweeper = world.sweeper({ isHeld: async () => isHeld });
    expect(await sweeper.sweep()).toEqual({ checked: 0, removed: 0, isComplete: false });
    isHeld = false;
    expect(await sweeper.sweep()).toMatchObject({ removed: 1 });
  });

  test("keeps an accepted message's folder, and removes others of the same message", async () => {
    const { workspaceId, deps } = world;
    expect((await world.send("order-1", 0)).kind).toBe("accepted");
    const id = emailId({ workspaceId, isTest: false }, "order-1");
    // Known to be a conflict before its content is stored.
    expect((await world.send("order-1", 1)).kind).toBe("conflict");
    expect(await world.files()).toHaveLength(1);
    for (let nth = 0; nth < 2; nth += 1) await world.content.put(newFolder({ ownerId: id }), NOTHING);
    expect(await world.files()).toHaveLength(3);
    world.clock.advance(1_000 * CONTENT_SWEEP_AGE_MS);
    expect(await world.sweeper().sweep()).toMatchObject({ checked: 3, removed: 2 });
    const view = await readEmail(deps, { workspaceId, isTest: false }, id);
    expect(view?.content?.html).toBe(world.htmlOf("order-1", 0));
  });

  test("removes erased content, even when the content's event is gone", async () => {
    await world.send("order-1", 0);
    const id = emailId({ workspaceId: world.workspaceId, isTest: false }, "order-1");
    await world.erase(id);
    await world.store.truncateBefore(emailStream(id), 1);
    world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
    expect(await world.sweeper().sweep()).toMatchObject({ removed: 1 });
    expect(await world.files()).toEqual([]);
  });

  test("keeps an upload's content while it is pending or ready, and removes it afterwards", async () => {
    const id = await uploaded();
    const sweep = async () => {
      world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
      return world.sweeper().sweep();
    };
    expect(await sweep()).toMatchObject({ checked: 1, removed: 0 });
    await world.check(id);
    expect(await sweep()).toMatchObject({ checked: 1, removed: 0 });
    const expired = { type: "AttachmentExpired", data: { reason: "deleted" } };
    await world.store.append(attachmentStream(id), toNewEvents([expired], systemCommandContext("test")), 1);
    expect(await sweep()).toMatchObject({ checked: 1, removed: 1 });
    expect(await world.files()).toEqual([]);
  });

  test("keeps the files of a message, even after their upload is deleted", async () => {
    const id = await uploaded();
    await world.check(id);
    const attachments = [{ kind: "upload", id } as const];
    expect((await world.send("order-1", 0, { attachments })).kind).toBe("accepted");
    await deleteAttachment(world.deps, id, {
      ...systemCommandContext("test"),
      workspaceId: world.workspaceId,
    });
    world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
    expect(await world.sweeper().sweep()).toMatchObject({ checked: 1, removed: 0 });
    expect(await world.files()).toHaveLength(2);
  });

  test("removes leftovers of an interrupted write from a folder that stays", async () => {
    const folder = uploadFolder(world.workspaceId, await uploaded());
    const [kept = "none"] = await world.files();
    const writer = await world.content.writer(folder);
    await writer.write(NOTHING);
    expect(await world.files()).toHaveLength(2);
    await world.sweeper().sweep();
    expect(await world.files()).toHaveLength(2);
    world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
    await world.sweeper().sweep();
    expect(await world.files()).toEqual([kept]);
    await writer.abort();
  });

  test("leaves content whose events it cannot read, reports that, and continues", async () => {
    const [strange, plain] = [newFolder(), newFolder()];
    for (const folder of [strange, plain]) await world.content.put(folder, NOTHING);
    const event = (type: string) => ({ type, data: {} });
    const events = toNewEvents(
      [event("EmailContentStored"), event("EmailOfTomorrow")],
      systemCommandContext("test"),
    );
    await world.store.append(emailStream(strange.ownerId), events, "noStream");
    world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
    const failures: (ContentFolder | null)[] = [];
    const sweeper = world.sweeper({ onTrouble: (_error, folder) => failures.push(folder) });
    expect(await sweeper.sweep()).toMatchObject({ checked: 2, removed: 1 });
    expect(failures).toMatchObject([strange]);
    expect(await world.files()).toEqual([expect.stringContaining(strange.folderId)]);
  });

  test("removes nothing while the log is unavailable", async () => {
    await world.content.put(newFolder(), NOTHING);
    world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
    let isUnavailable = true;
    const store = {
      ...world.store,
      read: async (...request: Parameters<typeof world.store.read>) => {
        if (isUnavailable) throw new StoreError("unavailable", "the store is unavailable");
        return world.store.read(...request);
      },
    };
    const sweeper = world.sweeper({ store });
    expect(await sweeper.sweep().catch((error: unknown) => error)).toBeInstanceOf(StoreError);
    expect(await world.files()).toHaveLength(1);
    isUnavailable = false;
    expect(await world.sweeper({ store }).sweep()).toMatchObject({ removed: 1 });
  });

  test("uses the content store's clock, not ours", async () => {
    await world.content.put(newFolder(), NOTHING);
    const startedAt = world.clock.now();
    world.clock.advance(10 * CONTENT_SWEEP_AGE_MS);
    const content = { ...world.content, now: async () => startedAt + MINUTE_MS };
    expect(await world.sweeper({ content }).sweep()).toMatchObject({ checked: 0 });
  });

  test("is bounded, and the next one continues from there", async () => {
    const many: FoundFolder[] = Array.from({ length: 12_000 }, () => ({
      ...newFolder(),
      modifiedAt: 0,
      hasTemporary: false,
    }));
    const removed: string[] = [];
    const content = {
      ...world.content,
      async *folders() {
        yield* many;
      },
      removeFolder: async ({ folderId }: ContentFolder) => void removed.push(folderId),
    };
    const sweeper = world.sweeper({ content });
    const rounds = [await sweeper.sweep(), await sweeper.sweep(), await sweeper.sweep()];
    expect(rounds.map(({ isComplete }) => isComplete)).toEqual([false, false, true]);
    expect(rounds.map((round) => round.checked)).toEqual([5_000, 5_000, 2_000]);
    expect(removed).toEqual(many.map(({ folderId }) => folderId));
  });
});

describe("a running sweeper", () => {
  test("sweeps repeatedly, and continues after a failure", async () => {
    const failures: unknown[] = [];
    let isUnavailable = true;
    const content = {
      ...world.content,
      now: async () => {
        if (isUnavailable) throw new StoreError("unavailable", "the content store is unavailable");
        return world.clock.now();
      },
    };
    const sweeper = world.sweeper({ content, onTrouble: (error) => failures.push(error) });
    sweeper.start();
    await until(() => failures.length > 1, "a failure report");
    isUnavailable = false;
    for (let sweep = 0; sweep < 2; sweep += 1) {
      await world.content.put(newFolder(), NOTHING);
      world.clock.advance(CONTENT_SWEEP_AGE_MS + 1);
      await until(async () => (await world.files()).length === 0, "a sweep");
    }
    await sweeper.stop();
  });

  test("stops at once, even if the content store does not answer", async () => {
    const asked = Promise.withResolvers<void>();
    const content = {
      ...world.content,
      now() {
        asked.resolve();
        return new Promise<never>(() => {});
      },
    };
    const sweeper = world.sweeper({ content });
    sweeper.start();
    await asked.promise;
    await sweeper.stop();
  });

  test("stops at once, between rounds and within one", async () => {
    const waiting = world.sweeper({ intervalMs: 3_600_000, random: () => 0.9 });
    waiting.start();
    await waiting.stop();

    let seen = 0;
    const content = {
      ...world.content,
      async *folders() {
        for (;;) {
          seen += 1;
          yield { ...newFolder(), modifiedAt: world.clock.now(), hasTemporary: false };
          await Bun.sleep(0);
        }
      },
    };
    const busy = world.sweeper({ content });
    busy.start();
    await until(() => seen > 10, "a sweep");
    await busy.stop();
    const sweepsAtStop = seen;
    await Bun.sleep(0);
    // The call that was under way may still end.
    expect(seen).toBeLessThanOrEqual(sweepsAtStop + 1);
  });
});

describe("a send", () => {
  const clocks: readonly [string, () => void][] = [
    ["both clocks", () => world.clock.advance(11 * MINUTE_MS)],
    [
      "the monotonic one alone",
      () => {
        world.clock.advance(11 * MINUTE_MS);
        world.clock.setBack(11 * MINUTE_MS);
      },
    ],
    ["the time of day alone", () => world.clock.setBack(-11 * MINUTE_MS)],
  ];
  test.each(clocks)(
    "that resumes long after it stored its content is not accepted, by %s",
    async (_name, pass) => {
      let isSlow = true;
      const put: typeof world.content.put = async (...request) => {
        const sha256 = await world.content.put(...request);
        if (isSlow) pass();
        return sha256;
      };
      const deps = world.depsWith({ content: { ...world.content, put } });
      const failure = await world.send("order-1", 0, { deps }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StoreError);
      expect(failure).toMatchObject({ failure: "unavailable" });
      expect(
        await world.store.lastRevision(
          emailStream(emailId({ workspaceId: world.workspaceId, isTest: false }, "order-1")),
        ),
      ).toBeNull();
      isSlow = false;
      expect(await world.send("order-1", 0, { deps })).toMatchObject({
        kind: "accepted",
        replayed: false,
      });
    },
  );
});

describe("an upload", () => {
  test("that took so long that its bytes may be gone is not kept", async () => {
    const writer: typeof world.content.writer = async (folder) => {
      const inner = await world.content.writer(folder);
      return {
        ...inner,
        write: async (chunk) => {
          await inner.write(chunk);
          world.clock.advance(6 * MINUTE_MS);
        },
      };
    };
    const deps = world.depsWith({ content: { ...world.content, writer } });
    expect(await world.upload(deps).catch((error: unknown) => error)).toBeInstanceOf(StoreError);
    expect(await world.files()).toEqual([]);
  });
});
