import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { attachmentAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { transact } from "../../../src/commands/transact.ts";
import type { AttachmentEvent } from "../../../src/domain/attachment/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import type { TestStore } from "../stores/stores.ts";
import type { TestService } from "../tenants.ts";
import { pdf } from "./uploadFiles.ts";

/**
 * An upload of an hour ago whose bytes are damaged on the disk: nobody can look into it, so it stays pending, until
 * `lifeMs` after it was made.
 */
export async function unreadableUpload(
  service: TestService,
  store: TestStore,
  workspaceId: string,
  lifeMs = 24 * HOUR_MS,
): Promise<string> {
  const id = newId();
  const root = store.env.CONTENT_URL?.slice("file:".length) ?? join(service.app.dataDir, "content");
  const folder = join(root, workspaceId, id, id);
  const { bytes, ...file } = pdf();
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, sha256), "something else");
  const uploadedAt = Date.now() - HOUR_MS;
  const times = { uploadedAt: rfc3339(uploadedAt), expiresAt: rfc3339(uploadedAt + lifeMs) };
  const data = { ...file, ...times, workspaceId, bytes: bytes.byteLength, sha256 };
  const event: AttachmentEvent = { type: "AttachmentUploaded", data };
  const aggregate = attachmentAggregate.of(id);
  const decide = () => ({ outcome: null, events: [event] });
  await transact(service.log.store, aggregate, decide, systemCommandContext("test"));
  return id;
}
