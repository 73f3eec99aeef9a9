import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ContentMirror } from "../../../src/adapters/directory/contentMirror.ts";
import { directoryContentStore } from "../../../src/adapters/directory/directoryContentStore.ts";
import { filePath, folderPath } from "../../../src/kernel/contentPath.ts";
import { sha256Of } from "../../../src/kernel/crypto/sha256.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

/** How many files a comparison reads. */
const FILES_READ_MAX = 2_000;

const folder = temporaryFolder();

let root: string;
let target: string;
/** Called before anything is written to the copy. */
let beforeWrites: () => void;
let copy: ContentMirror;

const newFolder = () => ({ workspaceId: newId(), ownerId: newId(), folderId: newId() });
/** Stores a file at the source, and returns its path. */
async function stored(text: string, where = newFolder()): Promise<string> {
  return filePath(where, await directoryContentStore(root).put(where, Buffer.from(text)));
}
const copied = (path: string) => readFile(join(target, path), "utf8").catch(() => null);

/** Compares, and returns what was found. Nothing that only the copy has is removed. */
async function compare({ isWhole = true } = {}) {
  const [gone, damaged]: [string[], string[]] = [[], []];
  let repaired = 0;
  for await (const found of copy.compare(isWhole)) {
    gone.push(...found.gone);
    damaged.push(...found.damaged);
    repaired += found.repaired;
  }
  return { gone, damaged, repaired };
}
const NOTHING = { gone: [], damaged: [], repaired: 0 };

beforeEach(async () => {
  root = join(folder, newId());
  target = `${root}.copy`;
  await directoryContentStore(root).create();
  await mkdir(target);
  await writeFile(join(target, "identity"), await readFile(join(root, "identity")));
  beforeWrites = () => {};
  copy = new ContentMirror(root, target, () => beforeWrites(), "");
});

describe("a comparison", () => {
  test("copies what the copy lacks, and names what only the copy has", async () => {
    const [kept, lost] = [await stored("kept"), await stored("lost")];
    expect(await compare()).toEqual(NOTHING);
    expect([await copied(kept), await copied(lost)]).toEqual(["kept", "lost"]);
    await rm(join(root, lost));
    await writeFile(join(target, `${kept}.partial`), "left by a killed process");
    expect(await compare()).toEqual({ ...NOTHING, gone: [lost] });
    expect(await readdir(dirname(join(target, kept)))).toHaveLength(1);
    await copy.remove(lost);
    expect(existsSync(join(target, dirname(dirname(dirname(lost)))))).toBe(false);
    expect(await compare()).toEqual(NOTHING);
  });

  test("goes on without what cannot be read at the source, or not replaced in the copy", async () => {
    const [whole, erased] = [await stored("whole"), await stored("erased")];
    const [pipe, replaced, folderless] = [
      await stored("pipe"),
      await stored("replaced"),
      await stored("no folder"),
    ];
    await rm(join(root, pipe));
    await mkdir(join(root, pipe));
    await mkdir(join(target, replaced), { recursive: true });
    await mkdir(dirname(join(target, erased)), { recursive: true });
    await rename(join(root, erased), join(target, erased));
    await mkdir(dirname(dirname(join(target, folderless))), { recursive: true });
    await writeFile(dirname(join(target, folderless)), "in place of a folder");
    const lost = await stored("no folder at the source");
    await rm(dirname(join(root, lost)), { recursive: true });
    await writeFile(dirname(join(root, lost)), "in place of a folder");
    expect(await copy.copyFolder(dirname(pipe))).toEqual([pipe]);
    expect(await compare()).toEqual({ ...NOTHING, gone: [erased], damaged: [pipe] });
    expect(copy.unusable.copy.sort()).toEqual([dirname(replaced), dirname(folderless)].sort());
    expect(copy.unusable.source).toEqual([dirname(lost)]);
    expect(await copied(whole)).toBe("whole");
  });

  test("copies again what is damaged in the copy: another length, or other bytes", async () => {
    const [short, other] = [await stored("to be cut"), await stored("other")];
    await compare();
    await truncate(join(target, short), 2);
    await writeFile(join(target, other), "ABCDE");
    expect(await compare()).toEqual({ ...NOTHING, repaired: 2 });
    expect([await copied(short), await copied(other)]).toEqual(["to be cut", "other"]);
    await rm(join(target, other));
    // As long as the file, and its bytes are not to be read.
    await symlink("12345", join(target, other));
    copy.readTo = "~";
    expect(await compare()).toEqual({ ...NOTHING, repaired: 1 });
  });

  test("never writes what is damaged at the source, and keeps what the copy has", async () => {
    const [cut, one] = [await stored("sound"), newFolder()];
    await compare();
    await truncate(join(root, cut), 2);
    const never = await stored("never copied", one);
    await writeFile(join(root, never), "other bytes!");
    expect((await compare()).damaged.sort()).toEqual([cut, never].sort());
    expect(await copy.copyFolder(folderPath(one))).toEqual([never]);
    expect([await copied(cut), await copied(never)]).toEqual(["sound", null]);
  });

  test("that is not whole finds what one side lacks altogether, and reads on where the last one ended", async () => {
    const where = newFolder();
    const path = await stored("first", where);
    await compare();
    // A file beside another one, and a message of its own.
    const [beside, own] = [await stored("beside", where), await stored("own")];
    copy.readTo = "~";
    expect(await compare({ isWhole: false })).toEqual(NOTHING);
    expect([await copied(beside), await copied(own)]).toEqual([null, "own"]);
    await writeFile(join(target, path), "FIRST");
    // It begins at the first file again.
    expect(copy.readTo).toBe("");
    expect(await compare({ isWhole: false })).toEqual({ ...NOTHING, repaired: 1 });
    expect(await copied(beside)).toBe("beside");
  });

  test("reads a bounded number of files, and the next one goes on behind the last of them", async () => {
    const where = newFolder();
    for (const side of [root, target]) await mkdir(join(side, folderPath(where)), { recursive: true });
    const paths = Array.from({ length: FILES_READ_MAX + 1 }, (_, index) =>
      filePath(where, sha256Of(Buffer.from(`file ${index}`))),
    );
    for (const [index, path] of paths.entries())
      for (const side of [root, target]) await writeFile(join(side, path), `file ${index}`);
    paths.sort();
    const last = paths.at(-1) ?? "";
    await writeFile(join(target, last), (await readFile(join(root, last), "utf8")).toUpperCase());
    expect(await compare({ isWhole: false })).toEqual(NOTHING);
    expect(copy.readTo).toBe(paths.at(-2) ?? "");
    // As after a restart.
    copy = new ContentMirror(root, target, () => {}, copy.readTo);
    expect(await compare({ isWhole: false })).toEqual({ ...NOTHING, repaired: 1 });
  });

  test("of a source that is away fails, and says nothing of what is missing", async () => {
    await stored("there");
    await compare();
    await rename(root, `${root}.away`);
    await mkdir(root);
    await expect(compare()).rejects.toThrow("the content store is not in its place");
  });
});

describe("a copy whose disk is unmounted", () => {
  test("is not written to once its place is another", async () => {
    const path = await stored("new");
    beforeWrites = () => {
      throw new Error("not in its place");
    };
    await expect(compare()).rejects.toThrow("not in its place");
    await expect(copy.copyFolder(dirname(path))).rejects.toThrow("not in its place");
    expect(await readdir(target)).toEqual(["identity"]);
  });

  test("is not made again below the mount point, even if nobody has noticed yet", async () => {
    const path = await stored("new");
    await rm(target, { recursive: true });
    await expect(copy.copyFolder(dirname(path))).rejects.toThrow("ENOENT");
    expect(existsSync(target)).toBe(false);
  });
});

test("nothing is written through a link in the place of a folder", async () => {
  const path = await stored("new");
  const [elsewhere, link] = [join(folder, newId()), dirname(dirname(path))];
  await mkdir(elsewhere);
  await mkdir(dirname(join(target, link)));
  await symlink(elsewhere, join(target, link));
  await expect(copy.copyFolder(dirname(path))).rejects.toThrow("is a link in the place of a folder");
  expect(await readdir(elsewhere)).toEqual([]);
});

test("a failure leaves nothing running: it is thrown once the other files of the folder are there", async () => {
  const where = newFolder();
  const paths = await Promise.all(["one", "two", "three"].map((text) => stored(text, where)));
  const [failing = "", ...others] = paths.sort();
  await mkdir(join(target, `${failing}.partial`), { recursive: true });
  await expect(copy.copyFolder(folderPath(where))).rejects.toThrow(`${failing}.partial`);
  for (const path of others) expect(await copied(path)).not.toBeNull();
});
