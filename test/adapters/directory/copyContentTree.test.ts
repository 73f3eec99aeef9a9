import { beforeEach, describe, expect, test } from "bun:test";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { copyContentTree } from "../../../src/adapters/directory/copyContentTree.ts";
import { directoryContentStore } from "../../../src/adapters/directory/directoryContentStore.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

/** More than are copied at once. */
const FILES = 40;

const folder = temporaryFolder();

let root: string;
let owners: readonly { readonly workspaceId: string; readonly ownerId: string }[];

/** Copies all, and does something when the first file is there. Returns the number of copied files. */
async function copyWhile(work: () => Promise<void>): Promise<number> {
  let files = 0;
  for await (const _file of copyContentTree(root, `${root}.copy`)) {
    files += 1;
    if (files === 1) await work();
  }
  return files;
}

describe("a content directory that changes while it is copied", () => {
  const store = () => directoryContentStore(root);

  beforeEach(async () => {
    root = join(folder, newId());
    await store().create();
    const workspaceId = newId();
    owners = Array.from({ length: FILES }, () => ({ workspaceId, ownerId: newId() }));
    for (const owner of owners)
      await store().put({ ...owner, folderId: newId() }, Buffer.from(owner.ownerId));
  });

  test("is copied without what was erased", async () => {
    const erased = await copyWhile(async () => {
      for (const owner of owners.slice(1)) await store().removeOwner(owner);
    });
    expect(erased).toBeLessThan(FILES);
    expect(await copyWhile(async () => {})).toBe(2);
  });

  test.each(["is removed", "is not mounted any more"])("and %s is no copy", async (what) => {
    const copy = copyWhile(async () => {
      await rename(root, `${root}.away`);
      if (what !== "is removed") await mkdir(root);
    });
    await expect(copy).rejects.toThrow("the content store is not in its place");
  });

  test("is no copy if it is already away", async () => {
    await rename(root, `${root}.away`);
    await expect(copyWhile(async () => {})).rejects.toThrow("the content store is not in its place");
  });
});
