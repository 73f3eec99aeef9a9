import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { outboxErasure } from "../../../src/adapters/nodemailer/outboxErasure.ts";
import { refusal } from "../../contract/eventStore.ts";

const folder = mkdtempSync(join(tmpdir(), "outbox-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

const [ana, ben] = [crypto.randomUUID(), crypto.randomUUID()];

test("removes a message's file and its half-written leftovers from a crash, in every outbox, and nothing else", async () => {
  const outboxes = ["a", "b"].map((name) => join(folder, name));
  for (const outbox of outboxes) mkdirSync(outbox);
  const [first = "", second = ""] = outboxes;
  for (const name of [`${ana}.eml`, `${ana}.eml.${crypto.randomUUID()}.tmp`, `${ben}.eml`, "notes.txt"]) {
    writeFileSync(join(first, name), name);
  }
  writeFileSync(join(second, `${ana}.eml`), "");
  const files = outboxErasure([...outboxes, join(folder, "missing")]);
  expect(await files.remove(ana)).toBe(true);
  expect(readdirSync(first).sort()).toEqual([`${ben}.eml`, "notes.txt"].sort());
  expect(readdirSync(second)).toEqual([]);
  expect(await files.remove(ana)).toBe(false);
});

test("passes over an earlier outbox that cannot be used, and erases from all others", async () => {
  const file = join(folder, "no-directory");
  writeFileSync(file, "");
  const outbox = join(folder, "current");
  mkdirSync(outbox);
  writeFileSync(join(outbox, `${ana}.eml`), "");
  const files = outboxErasure([outbox], [join(file, "outbox"), file]);
  expect(await files.remove(ana)).toBe(true);
  expect(readdirSync(outbox)).toEqual([]);
});

test("reports an outbox that cannot be used, and never treats an id as a path", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  expect((await refusal(outboxErasure([file]).remove(ana))).failure).toBe("unavailable");
  await expect(outboxErasure([folder]).remove("../a")).rejects.toThrow("invariant");
});
