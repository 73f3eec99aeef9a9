import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { deleteAttachment } from "../../../src/commands/attachment/deleteAttachment.ts";
import { readEmailHistory } from "../../../src/commands/email/emailHistory.ts";
import { contentOf } from "../../../src/commands/email/readEmail.ts";
import { attachmentStream } from "../../../src/domain/attachment/events.ts";
import { type EmailEvent, emailStream } from "../../../src/domain/email/events.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { pdf, txt } from "../../support/files/uploadFiles.ts";
import { until } from "../../support/until.ts";
import { type AttachmentWorld, attachmentWorld } from "./attachmentFixtures.ts";

const RETENTION_MS = 24 * HOUR_MS;
const SENT: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } };

let world: AttachmentWorld;
beforeEach(async () => {
  world = await attachmentWorld();
});
afterEach(() => world.close());

const unavailable = () => new StoreError("unavailable", "the store is unavailable");
const emailTypes = (id: string) => world.types(emailStream(id));
const emailFolder = async (id: string) => {
  const { state } = await readEmailHistory(world.store, id);
  if (state === null) throw new Error("the message was never accepted");
  return { workspaceId: world.workspaceId, ownerId: id, folderId: state.contentEventId };
};
const untilFilesExpired = (id: string) =>
  until(async () => (await emailTypes(id)).at(-1) === "EmailAttachmentsExpired", "the files to expire");

describe("receiving a file", () => {
  test("never keeps more of it in memory than the current chunk", async () => {
    let writes = 0;
    const writer = world.content.writer;
    world.content.writer = async (folder) => {
      const inner = await writer(folder);
      return {
        ...inner,
        async write(chunk) {
          await inner.write(chunk);
          writes += 1;
        },
      };
    };
    async function* chunks() {
      for (let chunksSent = 0; chunksSent < 50; chunksSent += 1) {
        expect(writes).toBe(chunksSent);
        yield new Uint8Array(100_000).fill(0x61);
      }
    }
    expect((await world.upload(txt(0), chunks())).kind).toBe("uploaded");
    expect(writes).toBe(50);
  });

  test("past the size limit is refused as soon as that shows", async () => {
    let chunksSent = 0;
    async function* endless() {
      for (;;) {
        chunksSent += 1_000_000;
        yield new Uint8Array(1_000_000);
      }
    }
    const outcome = await world.upload(txt(0), endless());
    expect(outcome).toMatchObject({ kind: "refused", code: "ATTACHMENT_LIMIT_EXCEEDED" });
    expect(chunksSent).toBe(6_000_000);
    expect(world.storage.held.size).toBe(0);
    for await (const folder of world.content.folders()) throw new Error(`left: ${folder.ownerId}`);
  });

  test("takes exactly its size from the quota, and nothing beyond it", async () => {
    world.storage.limit = 1_000;
    const first = await world.uploaded(txt(600));
    expect(world.storage.held).toEqual(new Map([[attachmentStream(first), 600]]));
    const second = await world.upload(txt(401));
    expect(second).toMatchObject({ kind: "refused", code: "STORAGE_LIMIT_EXCEEDED" });
    expect(await world.deps.storage.used(world.workspaceId)).toBe(600);
    await world.uploaded(txt(400));
    await deleteAttachment(world.deps, first, world.context());
    await world.uploaded(txt(600));
    let folders = 0;
    for await (const _ of world.content.folders()) folders += 1;
    expect(folders).toBe(2);
  });

  test.each([
    ["unavailable", 0, 0],
    ["outcomeUnknown", 1, 1],
  ] as const)("that the log has not taken (%s) leaves %i files", async (failure, files, held) => {
    world.store.beforeAppend = () => {
      throw new StoreError(failure, "the store is unavailable");
    };
    await expect(world.upload(pdf())).rejects.toThrow("the store is unavailable");
    let folders = 0;
    for await (const _ of world.content.folders()) folders += 1;
    expect({ folders, held: world.storage.held.size }).toEqual({ folders: files, held });
  });

  test("whose reading fails midway leaves nothing", async () => {
    async function* broken() {
      yield new Uint8Array(10);
      throw new Error("truncated");
    }
    await expect(world.upload(txt(0), broken())).rejects.toThrow("truncated");
    for await (const folder of world.content.folders()) throw new Error(`left: ${folder.ownerId}`);
  });
});

describe("checks", () => {
  test("make an upload ready, or reject it and remove its bytes", async () => {
    const uploaded = await world.uploaded();
    const bad = await world.uploaded({ ...pdf(), bytes: Buffer.from("no PDF") });
    await world.start();
    await world.untilUpload(uploaded, "AttachmentValidated");
    await world.untilUpload(bad, "AttachmentRejected", "AttachmentBytesRemoved");
    expect(await world.folders(uploaded)).toBe(1);
    expect(await world.folders(bad)).toBe(0);
    expect([...world.storage.held.keys()]).toEqual([attachmentStream(uploaded)]);
  });

  test("wait while the scanner is unavailable, and are done when it is back", async () => {
    const inspect = world.inspect;
    let inspections = 0;
    world.inspect = async () => {
      inspections += 1;
      throw unavailable();
    };
    const id = await world.uploaded();
    const instance = await world.start();
    await until(() => inspections === 1 && instance.failures.length === 1);
    expect(await world.types(attachmentStream(id))).toEqual(["AttachmentUploaded"]);
    // Rests grow: half a second, a second, two …
    for (const [rest, times] of [
      [500, 2],
      [1_000, 3],
      [2_000, 4],
    ] as const) {
      world.pass(rest);
      await until(() => instance.failures.length === times, `${times} queries`);
    }
    expect(inspections).toBe(4);
    world.inspect = inspect;
    world.pass(MINUTE_MS);
    await world.untilUpload(id, "AttachmentValidated");
  });

  test("of two instances leave one event each, and look at two files at once at most", async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => world.uploaded()));
    const inspect = world.inspect;
    let [inHand, most] = [0, 0];
    world.inspect = async (file, ...rest) => {
      inHand += 1;
      most = Math.max(most, inHand);
      const result = await inspect(file, ...rest);
      await Promise.resolve();
      inHand -= 1;
      return result;
    };
    await Promise.all([world.start(), world.start()]);
    for (const id of ids) await world.untilUpload(id, "AttachmentValidated");
    expect(most).toBeLessThanOrEqual(4);
  });

  test("continue beside a file that cannot be inspected", async () => {
    const stuck = await world.uploaded(pdf("stuck.pdf"));
    const inspect = world.inspect;
    world.inspect = async (file, ...rest) => {
      if (file.filename === "stuck.pdf") throw unavailable();
      return inspect(file, ...rest);
    };
    const others = await Promise.all(Array.from({ length: 10 }, () => world.uploaded()));
    await world.start();
    for (const id of others) await world.untilUpload(id, "AttachmentValidated");
    expect(await world.types(attachmentStream(stuck))).toEqual(["AttachmentUploaded"]);
  });

  async function startInspection() {
    const started = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<{ kind: "clean" }>();
    world.inspect = () => {
      started.resolve();
      return answer.promise;
    };
    const id = await world.uploaded();
    const instance = await world.start();
    await started.promise;
    return { id, instance, answer };
  }

  test("of an upload that is deleted meanwhile change nothing", async () => {
    const { id, instance, answer } = await startInspection();
    await deleteAttachment(world.deps, id, world.context());
    answer.resolve({ kind: "clean" });
    await instance.stop();
    await world.untilUpload(id, "AttachmentExpired", "AttachmentBytesRemoved");
  });

  test("in progress hold up no stop, and are made again after the next start", async () => {
    const { id, instance, answer } = await startInspection();
    await instance.stop(60_000);
    expect(await world.types(attachmentStream(id))).toEqual(["AttachmentUploaded"]);

    answer.resolve({ kind: "clean" });
    const next = await world.start();
    await world.untilUpload(id, "AttachmentValidated");
    await next.stop();
  });
});

describe("retention", () => {
  test("expires an upload at its time and not before", async () => {
    const id = await world.uploaded();
    const instance = await world.start();
    await world.untilUpload(id, "AttachmentValidated");
    await instance.caughtUp();
    world.pass(RETENTION_MS - 1);
    const later = await world.uploaded();
    await world.untilUpload(later, "AttachmentValidated");
    expect(await world.types(attachmentStream(id))).toHaveLength(2);
    world.pass(1);
    await world.untilUpload(id, "AttachmentValidated", "AttachmentExpired", "AttachmentBytesRemoved");
    expect(await world.folders(id)).toBe(0);
    expect([...world.storage.held.keys()]).toEqual([attachmentStream(later)]);
    expect(await world.types(attachmentStream(later))).toHaveLength(2);
  });

  test("retries until the bytes are gone, whatever fails in between", async () => {
    const id = await world.uploaded();
    const { removeOwner } = world.content;
    let faults = 0;
    world.content.removeOwner = async () => {
      faults += 1;
      throw unavailable();
    };
    // The deletion itself is in the log and stands.
    expect(await deleteAttachment(world.deps, id, world.context())).toBe("deleted");
    expect(await world.folders(id)).toBe(1);
    const instance = await world.start();
    await until(() => faults === 2 && instance.failures.length === 1);
    world.content.removeOwner = removeOwner;
    // Then a crash falls between the removal and its event.
    world.store.beforeAppend = (_, [type]) => {
      if (type === "AttachmentBytesRemoved") throw unavailable();
    };
    world.pass(500);
    await until(() => instance.failures.length === 2);
    expect(await world.folders(id)).toBe(0);
    world.store.beforeAppend = () => {};
    await instance.stop();
    await world.start();
    await world.untilUpload(id, "AttachmentExpired", "AttachmentBytesRemoved");
    expect(world.storage.held.size).toBe(0);
  });

  test("removes the files of a message once it has ended and its retention is over, and nothing else", async () => {
    // Longer than an event may be: the content itself is in the same folder.
    const long = { text: "t".repeat(200_000), html: "h".repeat(400_000) };
    const file = pdf();
    const id = await world.accept([file, txt(500), file], long);
    expect([...world.storage.held.values()]).toEqual([2 * file.bytes.length + 500]);
    const folder = await emailFolder(id);
    const sha256 = new Bun.CryptoHasher("sha256").update(file.bytes).digest("hex");
    const instance = await world.start();
    world.pass(RETENTION_MS);
    await instance.caughtUp();
    // It waits for its delivery, however late.
    const other = await world.accept([pdf()]);
    await world.addEmailEvents(other, SENT);
    world.pass(RETENTION_MS);
    await untilFilesExpired(other);
    expect(await emailTypes(id)).toEqual(["EmailContentStored", "EmailQueued"]);
    expect(await world.content.get(folder, sha256)).not.toBeNull();

    await world.addEmailEvents(id, SENT);
    await untilFilesExpired(id);
    expect(await world.content.get(folder, sha256)).toBeNull();
    expect(world.storage.held.size).toBe(0);
    const content = await contentOf(world.deps, id, await readEmailHistory(world.store, id));
    expect(content?.html).toBe(long.html);
    expect(content?.attachments).toHaveLength(3);
  });

  test("keeps the files of an ended message for their retention", async () => {
    const id = await world.accept([pdf()]);
    await world.addEmailEvents(id, SENT);
    const instance = await world.start();
    world.pass(RETENTION_MS - 1);
    await instance.caughtUp();
    const later = await world.uploaded();
    await world.untilUpload(later, "AttachmentValidated");
    expect((await emailTypes(id)).at(-1)).toBe("EmailSent");
    expect(await world.folders(id)).toBe(1);
    world.pass(1);
    await untilFilesExpired(id);
    expect(await world.folders(id)).toBe(0);
  });

  test("of a message is repeated when it was interrupted", async () => {
    const id = await world.accept([pdf(), txt(10)]);
    await world.addEmailEvents(id, { type: "EmailCanceled", data: {} });
    world.clock.advance(RETENTION_MS);
    const { removeFile } = world.content;
    let removed = 0;
    world.content.removeFile = async (...file) => {
      removed += 1;
      if (removed === 2) throw unavailable();
      return removeFile(...file);
    };
    world.store.beforeAppend = (_, [type]) => {
      if (type === "EmailAttachmentsExpired" && removed < 6) throw unavailable();
    };
    const instance = await world.start();
    for (let fault = 1; fault <= 2; fault += 1) {
      await until(() => instance.failures.length === fault, `fault ${fault}`);
      world.pass(2 * SECOND_MS);
    }
    await untilFilesExpired(id);
    expect(await world.folders(id)).toBe(0);
    expect(world.storage.held.size).toBe(0);
    expect((await emailTypes(id)).filter((type) => type === "EmailAttachmentsExpired")).toHaveLength(1);
  });

  test("by two instances records each expiry once", async () => {
    const id = await world.accept([pdf()]);
    await world.addEmailEvents(id, SENT);
    const uploads = await Promise.all(Array.from({ length: 10 }, () => world.uploaded()));
    world.clock.advance(RETENTION_MS);
    const instances = await Promise.all([world.start(), world.start()]);
    await untilFilesExpired(id);
    for (const upload of uploads) {
      await until(
        async () => (await world.types(attachmentStream(upload))).at(-1) === "AttachmentBytesRemoved",
      );
    }
    for (const instance of instances) await instance.stop();
    for (const upload of uploads) {
      const types = await world.types(attachmentStream(upload));
      expect(new Set(types).size).toBe(types.length);
    }
    expect((await emailTypes(id)).filter((type) => type === "EmailAttachmentsExpired")).toHaveLength(1);
  });
});

describe("a send", () => {
  test("takes its direct files from the quota, and nothing when it is refused", async () => {
    world.storage.limit = 1_000;
    const id = await world.accept([txt(600)]);
    const { folderId } = await emailFolder(id);
    expect(world.storage.held).toEqual(new Map([[`${emailStream(id)}/${folderId}`, 600]]));
    await expect(world.accept([txt(401)])).rejects.toThrow("STORAGE_LIMIT_EXCEEDED");
    expect(world.storage.held.size).toBe(1);
    await world.accept([txt(400)]);
  });
});
