import { attachments } from "../../../projections/attachments.ts";
import { attachmentUse } from "../../../projections/attachmentUse.ts";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { type UploadOutcome, uploadAttachment } from "../../../src/commands/attachment/uploadAttachment.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { markVerified, newSender } from "../../../src/commands/sender/manageSender.ts";
import { senderIdOf } from "../../../src/commands/sender/senderId.ts";
import type { FileStorageQuota } from "../../../src/commands/storage/fileStorageQuota.ts";
import { transact } from "../../../src/commands/transact.ts";
import { newWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { attachmentStream } from "../../../src/domain/attachment/events.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../../src/kernel/event/commandContext.ts";
import type { AttachmentInspector } from "../../../src/ports/attachmentInspector.ts";
import type { ContentStore } from "../../../src/ports/contentStore.ts";
import { attachmentWorkers } from "../../../src/reactors/attachment/attachmentWorkers.ts";
import { openAttachmentInspector } from "../../../src/service/adapters/openAttachmentInspector.ts";
import { addressOf } from "../../support/addressOf.ts";
import { direct, pdf, type SampleFile } from "../../support/files/uploadFiles.ts";
import { memoryContentStore } from "../../support/stores/memoryContentStore.ts";
import { testDependencies } from "../../support/testDependencies.ts";
import { startTestInstance, type TestInstance } from "../../support/testInstance.ts";
import { until } from "../../support/until.ts";
import { type TestClock, testClock, type WatchedStore, watchedStore } from "../email/deliveryFixtures.ts";

/** A quota of one number of bytes, which remembers who holds what. */
export interface TestStorageQuota extends FileStorageQuota {
  readonly held: Map<string, number>;
  limit: number;
}

function testStorageQuota(): TestStorageQuota {
  const held = new Map<string, number>();
  const used = () => [...held.values()].reduce((sum, bytes) => sum + bytes, 0);
  const quota: TestStorageQuota = {
    held,
    limit: Number.POSITIVE_INFINITY,
    async reserve(_workspaceId, holder, bytes) {
      if (used() + bytes > quota.limit) return "noRoom";
      held.set(holder, bytes);
      return "reserved";
    },
    async release(_workspaceId, holder) {
      held.delete(holder);
    },
    async confirm() {},
    used: async () => used(),
  };
  return quota;
}

/** An instance's work on attachments, over its own read models. */
export interface AttachmentInstance {
  readonly failures: { readonly error: unknown; readonly id: string }[];
  /** Waits until its read models hold the log as it is now. */
  caughtUp(): Promise<void>;
  stop(graceMs?: number): Promise<void>;
}

/** A log, a content store, a clock, a workspace, and instances over them. */
export interface AttachmentWorld {
  readonly store: WatchedStore;
  readonly content: ContentStore;
  readonly clock: TestClock;
  readonly storage: TestStorageQuota;
  readonly deps: Dependencies;
  readonly workspaceId: string;
  /** The file inspector; can be replaced. */
  inspect: AttachmentInspector["inspect"];
  start(): Promise<AttachmentInstance>;
  upload(file: SampleFile, chunks?: AsyncIterable<Uint8Array>): Promise<UploadOutcome>;
  /** Uploads a file that will be accepted, and returns its id. */
  uploaded(file?: SampleFile): Promise<string>;
  /** Accepts a message with direct files. */
  accept(files: readonly SampleFile[], content?: Readonly<Record<string, string>>): Promise<string>;
  addEmailEvents(id: string, ...events: readonly EmailEvent[]): Promise<void>;
  types(stream: string): Promise<readonly string[]>;
  untilUpload(id: string, ...types: readonly string[]): Promise<void>;
  /** How many of this owner's folders the content store has. */
  folders(ownerId: string): Promise<number>;
  /** Moves the clock and wakes all instances. */
  pass(ms: number): void;
  context(): WorkspaceCommandContext;
  close(): Promise<void>;
}

const SENDER = "shop@example.com";

export async function attachmentWorld(): Promise<AttachmentWorld> {
  const store = watchedStore();
  const content = memoryContentStore();
  const clock = testClock();
  const storage = testStorageQuota();
  const inspector = openAttachmentInspector({ clamavUrl: null });
  const running: TestInstance[] = [];
  const deps: Dependencies = {
    ...testDependencies({
      store,
      content,
      clock,
      inspector: { ...inspector, inspect: (...request) => world.inspect(...request) },
    }),
    storage,
  };
  const at = (): CommandContext => ({ at: clock.now(), correlationId: "test", actor: "test" });
  const workspaceId = await newWorkspace(deps, "shop", at());
  const name = { kind: "address", address: addressOf(SENDER) } as const;
  await newSender(deps, { workspaceId, name }, at());
  await markVerified(deps, senderIdOf(deps.keys, workspaceId, name), "operator", {
    ...at(),
    workspaceId,
  });
  let sends = 0;

  const world: AttachmentWorld = {
    store,
    content,
    clock,
    storage,
    deps,
    workspaceId,
    inspect: inspector.inspect,
    async start() {
      const instance = await startInstance(deps);
      running.push(instance);
      return instance;
    },
    upload: ({ bytes, ...file }, chunks) =>
      uploadAttachment(deps, {
        ...file,
        chunks: chunks ?? [bytes],
        workspaceId,
        context: world.context(),
      }),
    async uploaded(file = pdf()) {
      const outcome = await world.upload(file);
      if (outcome.kind !== "uploaded") throw new Error(outcome.code);
      return outcome.id;
    },
    async accept(files, parts = { text: "Hello" }) {
      sends += 1;
      const result = await sendEmail(deps, {
        workspaceId,
        idempotencyKey: `key-${sends}`,
        comparable: { sends },
        from: addressOf(SENDER),
        to: addressOf("ana@example.org"),
        content: { from: SENDER, to: "ana@example.org", subject: "Hello", ...parts },
        template: null,
        attachments: files.map((file) => {
          const { filename, content_type: contentType, content: text } = direct(file);
          return { kind: "direct", filename, contentType, content: text };
        }),
        context: world.context(),
      });
      if (result.kind !== "accepted") throw new Error(`not accepted: ${JSON.stringify(result)}`);
      return result.receipt.id;
    },
    async addEmailEvents(id, ...events) {
      const aggregate = emailAggregate.of(id);
      await transact(store, aggregate, () => ({ outcome: null, events }), world.context());
    },
    types: async (stream) => (await store.read(stream, 0, 100)).map(({ type }) => type),
    async untilUpload(id, ...types) {
      const hasTypes = async () => (await world.types(attachmentStream(id))).slice(1).join() === types.join();
      await until(hasTypes, types.join(", "));
    },
    async folders(ownerId) {
      let count = 0;
      for await (const folder of content.folders()) if (folder.ownerId === ownerId) count += 1;
      return count;
    },
    pass(ms) {
      clock.advance(ms);
      for (const instance of running) instance.wake();
    },
    context: () => ({ ...at(), workspaceId }),
    async close() {
      for (const instance of running) await instance.stop();
      await store.close();
    },
  };
  return world;
}

async function startInstance(deps: Dependencies): Promise<AttachmentInstance & TestInstance> {
  const failures: AttachmentInstance["failures"][number][] = [];
  const instance = await startTestInstance({
    store: deps.store,
    projections: [attachments, attachmentUse],
    workersOf: (readers) =>
      attachmentWorkers({
        deps,
        attachments: readers.reader("attachments"),
        attachmentUse: readers.reader("attachment-use"),
        worker: "test",
        random: () => 0,
        onTrouble: (error: unknown, id: string) => failures.push({ error, id }),
      }),
  });
  return { ...instance, failures };
}
