import { expect, test } from "bun:test";
import fc from "fast-check";
import { deleteAttachment } from "../../../src/commands/attachment/deleteAttachment.ts";
import { readAttachment, uploadFolder } from "../../../src/commands/attachment/readAttachment.ts";
import { openAttachments } from "../../../src/commands/email/content/storedContent.ts";
import { folderOf, readEmail } from "../../../src/commands/email/readEmail.ts";
import type { RequestedAttachment } from "../../../src/commands/email/send/resolveAttachments.ts";
import { emailId } from "../../../src/domain/email/idempotency.ts";
import { sha256Of } from "../../../src/kernel/crypto/sha256.ts";
import type { ContentStore } from "../../../src/ports/contentStore.ts";
import { type EventStore, LOG_START, StoreError } from "../../../src/ports/eventStore.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { type SweptWorld, sweptWorld, UPLOADED } from "./sweeperFixtures.ts";

const MINUTE_MS = 60_000;
const RUNS = 250;
const RUNS_MS_MAX = 240_000;
const KEYS = ["key-one", "key-two"] as const;
const INLINE_TEXT = "sent directly";

/** What happens to a request after its bytes are stored. */
type Fate = "lives" | "sleeps" | "dies before it appends" | "dies before it hears";

type Step =
  | { readonly kind: "send"; readonly key: string; readonly variant: number; readonly fate: Fate }
  | { readonly kind: "upload"; readonly fate: Fate }
  | { readonly kind: "erase"; readonly key: string }
  | { readonly kind: "delete" }
  | { readonly kind: "sweep" }
  | { readonly kind: "pass"; readonly minutes: number };

type Send = Extract<Step, { kind: "send" }>;

const key = fc.constantFrom(...KEYS);
const fate = fc.constantFrom<Fate>(
  "lives",
  "lives",
  "lives",
  "sleeps",
  "dies before it appends",
  "dies before it hears",
);
const stepOf = <const Kind extends Step["kind"], Parts extends object>(
  weight: number,
  kind: Kind,
  parts: { [Name in keyof Parts]: fc.Arbitrary<Parts[Name]> },
) => ({ weight, arbitrary: fc.record({ kind: fc.constant(kind), ...parts }) as fc.Arbitrary<Step> });
const step: fc.Arbitrary<Step> = fc.oneof(
  stepOf(4, "send", { key, variant: fc.nat({ max: 1 }), fate }),
  stepOf(2, "upload", { fate }),
  stepOf(3, "erase", { key }),
  stepOf(1, "delete", {}),
  stepOf(4, "sweep", {}),
  stepOf(4, "pass", { minutes: fc.constantFrom(9, 70) }),
);

/** A gate: each caller waits until the scheduler lets it pass. */
type Gate = (label: string) => Promise<unknown>;

/** The log for one request, which may crash at its append. */
function crashingStore(store: EventStore, end: Fate, gate: Gate): EventStore {
  return {
    ...store,
    async append(stream, events, expected) {
      if (end === "dies before it appends") throw new StoreError("unavailable", "the process was killed");
      // No gate before the append: it ends by its own time-out, long before a folder is old.
      const result = await store.append(stream, events, expected);
      await gate("appended");
      if (end === "dies before it hears") throw new StoreError("outcomeUnknown", "the process was killed");
      return result;
    },
  };
}

/**
 * The content store for one request. It waits at a gate before every step, may sleep after storing its bytes, and
 * cleans up nothing if the request is to crash.
 */
function gatedContent(
  content: ContentStore,
  gate: Gate,
  end: Fate = "lives",
  sleep = () => gate("stored"),
): ContentStore {
  const stored = () => (end === "sleeps" ? sleep() : gate("stored"));
  return {
    ...content,
    async put(folder, bytes) {
      await gate("to put");
      const sha256 = await content.put(folder, bytes);
      await stored();
      return sha256;
    },
    async link(from, sha256, to) {
      await gate("to link");
      return content.link(from, sha256, to);
    },
    async writer(folder) {
      const writer = await content.writer(folder);
      return {
        ...writer,
        async write(chunk) {
          await gate("to write");
          await writer.write(chunk);
        },
        async finish() {
          await gate("to finish");
          const finished = await writer.finish();
          await stored();
          return finished;
        },
      };
    },
    async removeOwner(owner) {
      if (end.startsWith("dies")) throw new StoreError("unavailable", "the process was killed");
      await content.removeOwner(owner);
    },
    async removeFolder(folder) {
      await gate("to remove");
      await content.removeFolder(folder);
    },
  };
}

/** What a run has recorded: the variant accepted under each key, and what was erased or uploaded since. */
interface Recorded {
  /** An upload that is ready from the start. */
  readonly uploadId: string;
  readonly accepted: Map<string, number>;
  readonly erased: Set<string>;
  readonly uploads: Set<string>;
}

/** The files of a message's second variant: an upload, which the scheduler may delete, and an inline file. */
function attachmentsOf(variant: number, { uploadId }: Recorded): readonly RequestedAttachment[] {
  if (variant === 0) return [];
  const content = Buffer.from(INLINE_TEXT).toString("base64");
  return [
    { kind: "upload", id: uploadId },
    { kind: "direct", filename: "direct.txt", contentType: "text/plain", content },
  ];
}

/** How many files a message has: all of its bytes, unless it was erased or never accepted. */
async function filesOfMessage(world: SweptWorld, name: string, recorded: Recorded): Promise<number> {
  const { workspaceId, deps, content } = world;
  const { accepted, erased } = recorded;
  const id = emailId({ workspaceId, isTest: false }, name);
  const view = await readEmail(deps, { workspaceId, isTest: false }, id);
  if (accepted.has(name)) expect(view).not.toBeNull();
  if (view === null) return 0;
  const listed = view.content?.attachments ?? [];
  const opened = await openAttachments(content, folderOf(id, view.email), listed);
  // Asked last: it may have been erased while we looked.
  if (erased.has(name)) return 0;
  const variants = accepted.has(name) ? [accepted.get(name) ?? 0] : [0, 1];
  expect(variants.map((variant) => world.htmlOf(name, variant))).toContain(view.content?.html ?? "none");
  const texts = opened?.map((file) => Buffer.from(file.content).toString());
  expect(texts).toEqual(listed.length === 0 ? [] : [UPLOADED, INLINE_TEXT]);
  return 1 + listed.length;
}

/** How many files an upload has: its bytes exist as long as it can be sent. */
async function filesOfUpload({ workspaceId, deps, content }: SweptWorld, id: string): Promise<number> {
  const bytes = await content.get(uploadFolder(workspaceId, id), sha256Of(Buffer.from(UPLOADED)));
  // Asked last: it may have been deleted while we looked.
  const upload = await readAttachment(deps, workspaceId, id);
  if (upload?.status === "expired") return 0;
  expect(Buffer.from(bytes ?? []).toString()).toBe(UPLOADED);
  return 1;
}

interface KeptContent {
  readonly messages: number;
  readonly files: number;
}

/** Checks that all accepted content that was not erased exists, whether its sender got an answer or not. */
async function expectKept(world: SweptWorld, recorded: Recorded): Promise<KeptContent> {
  const messageFiles: number[] = [];
  for (const name of KEYS) messageFiles.push(await filesOfMessage(world, name, recorded));
  let files = messageFiles.reduce((sum, count) => sum + count, 0);
  for (const id of recorded.uploads) files += await filesOfUpload(world, id);
  return { messages: messageFiles.filter((count) => count > 0).length, files };
}

/** Resolves to true as soon as one promise does, and to false if none does. */
function anyTrue(promises: readonly Promise<boolean>[]): Promise<boolean> {
  const fulfilled = promises.map(async (promise) => (await promise) || Promise.reject(new Error("untrue")));
  return Promise.any(fulfilled).catch(() => false);
}

/** The outcome of a request; null if it crashed or gave up. */
async function outcomeOf<Outcome>(request: Promise<Outcome>): Promise<Outcome | null> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return null;
  }
}

/** Runs all steps concurrently, in the order in which the scheduler opens their gates. */
async function runSteps(
  world: SweptWorld,
  steps: readonly Step[],
  scheduler: fc.Scheduler,
  recorded: Recorded,
): Promise<void> {
  const { workspaceId } = world;
  const gate: Gate = (label) => scheduler.schedule(Promise.resolve(), label);
  const sweep = () => world.sweeper({ content: gatedContent(world.content, gate) }).sweep();
  const sleep = async () => {
    world.clock.advance(70 * MINUTE_MS);
    await sweep();
  };
  const depsFor = (end: Fate) =>
    world.depsWith({
      store: crashingStore(world.store, end, gate),
      content: gatedContent(world.content, gate, end, sleep),
    });
  const send = async ({ key: name, variant, fate: end }: Send) => {
    await gate("to send");
    const attachments = attachmentsOf(variant, recorded);
    const options = { deps: depsFor(end), attachments };
    const outcome = await outcomeOf(world.send(name, variant, options));
    if (outcome?.kind === "accepted") recorded.accepted.set(name, variant);
    if (outcome?.kind === "refused") expect(outcome.code).toBe("ATTACHMENT_EXPIRED");
    return recorded.accepted.has(name);
  };
  const sends = steps.filter((one) => one.kind === "send").map((one) => ({ key: one.key, done: send(one) }));
  const erase = async (name: string) => {
    // Only an accepted message can be erased. Its retries go on meanwhile.
    const sendsOfKey = sends.filter((one) => one.key === name).map(({ done }) => done);
    if (!(await anyTrue(sendsOfKey))) return;
    await gate("to erase");
    recorded.erased.add(name);
    await world.erase(emailId({ workspaceId, isTest: false }, name));
  };
  const upload = async (end: Fate) => {
    await gate("to upload");
    const outcome = await outcomeOf(world.upload(depsFor(end)));
    if (outcome?.kind === "uploaded") recorded.uploads.add(outcome.id);
  };
  const others = steps.map(async (one): Promise<unknown> => {
    if (one.kind === "send") return;
    if (one.kind === "erase") return erase(one.key);
    if (one.kind === "upload") return upload(one.fate);
    await gate(one.kind);
    if (one.kind === "pass") return world.clock.advance(one.minutes * MINUTE_MS);
    if (one.kind === "delete")
      return deleteAttachment(world.deps, recorded.uploadId, {
        ...systemCommandContext("test"),
        workspaceId,
      });
    await sweep();
    return expectKept(world, recorded);
  });
  await scheduler.waitFor(Promise.all([...others, ...sends.map(({ done }) => done)]));
}

/** A world with one upload that is ready to be sent. */
async function worldWithUpload(): Promise<{ world: SweptWorld; recorded: Recorded }> {
  const world = await sweptWorld();
  const outcome = await world.upload();
  if (outcome.kind !== "uploaded") throw new Error(outcome.message);
  await world.check(outcome.id);
  const uploads = new Set([outcome.id]);
  return {
    world,
    recorded: { uploadId: outcome.id, accepted: new Map(), erased: new Set(), uploads },
  };
}

/** Counts uploads in the log whose sender got no answer. Their bytes stay too. */
async function countUnconfirmed({ store }: SweptWorld, { uploads }: Recorded): Promise<number> {
  let unconfirmed = 0;
  for await (const { events } of store.readAll(LOG_START, { types: ["AttachmentUploaded"] })) {
    unconfirmed += events.filter(({ stream }) => !uploads.has(stream.slice("attachment-".length))).length;
  }
  return unconfirmed;
}

test(
  "sweeps that race sends, uploads, retries, deaths, erasures and deletions remove all orphaned content, and nothing else",
  async () => {
    const seen = { swept: 0, kept: 0, erased: 0, uploaded: 0 };
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 14 }),
      fc.scheduler(),
      async (steps, scheduler) => {
        const { world, recorded } = await worldWithUpload();
        try {
          await runSteps(world, steps, scheduler, recorded);
          await expectKept(world, recorded);
          world.clock.advance(120 * MINUTE_MS);
          seen.swept += (await world.sweeper().sweep()).removed;
          const kept = await expectKept(world, recorded);
          expect(await world.files()).toHaveLength(kept.files + (await countUnconfirmed(world, recorded)));
          seen.kept += kept.messages;
          seen.erased += recorded.erased.size;
          seen.uploaded += recorded.uploads.size - 1;
        } finally {
          await world.close();
        }
      },
    );
    await fc.assert(property, { numRuns: RUNS });
    // The runs have covered every case: kept, removed, erased and uploaded content.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  },
  RUNS_MS_MAX,
);
