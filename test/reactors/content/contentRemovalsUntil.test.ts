import { expect, test } from "bun:test";
import { ContentStoreError } from "../../../src/ports/contentStore.ts";
import { contentRemovalsUntil } from "../../../src/reactors/content/contentRemovalsUntil.ts";
import { memoryContentStore } from "../../support/stores/memoryContentStore.ts";

test("a stop ends the wait for each removal that hangs, and the store's other calls stay as they are", async () => {
  const hangs = () => new Promise<never>(() => {});
  const hanging = { ...memoryContentStore(), removeFile: hangs, removeOwner: hangs, removeFolder: hangs };
  const stop = new AbortController();
  const content = contentRemovalsUntil(stop.signal, hanging);
  const folder = {
    workspaceId: crypto.randomUUID(),
    ownerId: crypto.randomUUID(),
    folderId: crypto.randomUUID(),
  };
  const sha256 = await content.put(folder, Buffer.from("a file"));
  const removals = Promise.allSettled([
    content.removeFile(folder, sha256),
    content.removeOwner(folder),
    content.removeFolder(folder),
  ]);
  const reason = new ContentStoreError("the service stops");
  stop.abort(reason);
  for (const removal of await removals) expect(removal).toEqual({ status: "rejected", reason });
  expect(await content.get(folder, sha256)).not.toBeNull();
});
