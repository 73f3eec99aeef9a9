import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { directoryContentStore } from "../../../src/adapters/directory/directoryContentStore.ts";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { checkAttachment } from "../../../src/commands/attachment/checkAttachment.ts";
import { type UploadOutcome, uploadAttachment } from "../../../src/commands/attachment/uploadAttachment.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import type { RequestedAttachment } from "../../../src/commands/email/send/resolveAttachments.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import type { SendOutcome } from "../../../src/commands/email/send/sendOutcome.ts";
import { markVerified, newSender } from "../../../src/commands/sender/manageSender.ts";
import { transact } from "../../../src/commands/transact.ts";
import { newWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { folderPath, IDENTITY_FILE } from "../../../src/kernel/contentPath.ts";
import { instanceKeys, newDataKey } from "../../../src/kernel/crypto/instanceKeys.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../../src/kernel/event/commandContext.ts";
import type { ContentFolder, ContentStore } from "../../../src/ports/contentStore.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import {
  CONTENT_SWEEP_AGE_MS,
  type OrphanedContentSweeper,
  type OrphanedContentSweeperOptions,
  orphanedContentSweeper,
} from "../../../src/reactors/content/orphanedContentSweeper.ts";
import { addressOf } from "../../support/addressOf.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";
import { testDependencies } from "../../support/testDependencies.ts";
import { type TestClock, testClock } from "../email/deliveryFixtures.ts";

/** More than an event holds. */
const HTML_CHARACTERS = 262_200;

interface SendOptions {
  readonly deps?: Dependencies;
  readonly attachments?: readonly RequestedAttachment[];
}

/** What an upload of these tests holds. */
export const UPLOADED = "uploaded in two parts";

/** Content in real files under a test's clock, the log in memory, and a workspace to send from. */
export interface SweptWorld {
  readonly clock: TestClock;
  readonly store: EventStore;
  readonly content: ContentStore;
  readonly deps: Dependencies;
  readonly workspaceId: string;
  /** Services with replaced parts: a process that dies, or a slow store. */
  depsWith(parts: Partial<Pick<Dependencies, "store" | "content">>): Dependencies;
  sweeper(options?: Partial<OrphanedContentSweeperOptions>): OrphanedContentSweeper;
  /** Sends content that is too large for an event; `variant` makes it another request. */
  send(key: string, variant: number, options?: SendOptions): Promise<SendOutcome>;
  /** Uploads a file, not yet checked. */
  upload(deps?: Dependencies): Promise<UploadOutcome>;
  /** Checks an upload, so that it can be sent. */
  check(id: string): Promise<void>;
  htmlOf(key: string, variant: number): string;
  erase(id: string): Promise<void>;
  /** Paths of all files of content. */
  files(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Tells the times of folders by the test's clock: of the beginning and of the end of each write, whichever is later. */
function clocked(inner: ContentStore, clock: TestClock): ContentStore {
  const writtenAt = new Map<string, number>();
  const stamped = async <Result>(folder: ContentFolder, write: () => Promise<Result>): Promise<Result> => {
    const stamp = () => writtenAt.set(folderPath(folder), clock.now());
    stamp();
    try {
      return await write();
    } finally {
      stamp();
    }
  };
  return {
    ...inner,
    now: async () => clock.now(),
    put: (folder, bytes) => stamped(folder, () => inner.put(folder, bytes)),
    async writer(folder) {
      const writer = await stamped(folder, () => inner.writer(folder));
      return {
        ...writer,
        write: (chunk) => stamped(folder, () => writer.write(chunk)),
        finish: () => stamped(folder, () => writer.finish()),
      };
    },
    link: (from, sha256, to) => stamped(to, () => inner.link(from, sha256, to)),
    async *folders() {
      for await (const folder of inner.folders()) {
        yield { ...folder, modifiedAt: writtenAt.get(folderPath(folder)) ?? clock.now() };
      }
    },
  };
}

export async function sweptWorld(): Promise<SweptWorld> {
  const root = await mkdtemp(join(tmpdir(), "postledger-test-sweep-"));
  const clock = testClock();
  const store = memoryEventStore();
  const content = clocked(directoryContentStore(root), clock);
  await content.create();
  const keys = instanceKeys(newDataKey());
  const depsWith: SweptWorld["depsWith"] = (parts) =>
    testDependencies({ store, content, ...parts, clock, keys });
  const deps = depsWith({});
  const system = (): CommandContext => ({ at: clock.now(), correlationId: "test", actor: "test" });
  const workspaceId = await newWorkspace(deps, "shop", system());
  const context = (): WorkspaceCommandContext => ({ ...system(), workspaceId });
  const from = addressOf("shop@example.com");
  const name = { kind: "address", address: from } as const;
  const added = await newSender(deps, { workspaceId, name }, context());
  if (added) await markVerified(deps, added.id, "operator", context());
  const htmlOf = (key: string, variant: number) => `${key} ${variant} ${"ü".repeat(HTML_CHARACTERS)}`;
  return {
    clock,
    store,
    content,
    deps,
    workspaceId,
    depsWith,
    htmlOf,
    sweeper: (options = {}) =>
      orphanedContentSweeper({
        store,
        content,
        isHeld: async () => false,
        ageMs: CONTENT_SWEEP_AGE_MS,
        intervalMs: 1,
        random: () => 0,
        onSwept: () => {},
        onTrouble: (error) => {
          throw error;
        },
        ...options,
      }),
    send: (key, variant, { deps: over = deps, attachments = [] } = {}) =>
      sendEmail(over, {
        workspaceId,
        idempotencyKey: key,
        comparable: { key, variant },
        from,
        to: addressOf("ana@example.org"),
        content: {
          from: from.sent,
          to: "ana@example.org",
          subject: "Hello",
          html: htmlOf(key, variant),
        },
        template: null,
        attachments,
        context: context(),
      }),
    upload: (over = deps) =>
      uploadAttachment(over, {
        workspaceId,
        filename: "notes.txt",
        contentType: "text/plain",
        chunks: [Buffer.from(UPLOADED.slice(0, 8)), Buffer.from(UPLOADED.slice(8))],
        context: context(),
      }),
    check: (id) => checkAttachment(deps, id, context(), new AbortController().signal),
    async erase(id) {
      const event = { type: "EmailContentErased" as const, data: { reason: "requested" } };
      const aggregate = emailAggregate.of(id);
      await transact(store, aggregate, () => ({ outcome: null, events: [event] }), context());
    },
    async files() {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && entry.name !== IDENTITY_FILE)
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
    },
    async close() {
      await store.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}
