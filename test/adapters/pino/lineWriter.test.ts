import { expect, test } from "bun:test";
import { closeSync, constants, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { lineWriter } from "../../../src/adapters/pino/lineWriter.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { until } from "../../support/until.ts";

/** More than a pipe takes in one piece, so a write to a nearly full one is cut short. */
const LINE_CHARS = 10_000;
const LINES = 100;

const directory = temporaryFolder();

async function openPipe(name: string): Promise<{ path: string; fd: number }> {
  const path = join(directory, name);
  await Bun.$`mkfifo ${path}`;
  return { path, fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK) };
}

function readAvailable(fd: number): string {
  const chunk = Buffer.alloc(64 * 1024);
  let text = "";
  try {
    for (;;) text += chunk.toString("latin1", 0, readSync(fd, chunk));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    return text;
  }
}

const lineOf = (number: number) => `${String(number).padStart(LINE_CHARS, "0")}\n`;

test("lines that a full pipe does not take are dropped, and the others stay whole", async () => {
  const { fd } = await openPipe("unread");
  try {
    const write = lineWriter(fd);
    for (let line = 0; line < LINES; line += 1) write(lineOf(line));
    const taken = readAvailable(fd);
    write(lineOf(LINES));
    const lines = (taken + readAvailable(fd)).trimEnd().split("\n");
    expect(new Set(lines.map(({ length }) => length))).toEqual(new Set([LINE_CHARS]));
    const numbers = lines.map(Number);
    expect(numbers.length).toBeLessThan(LINES);
    expect(numbers).toEqual([...numbers.keys()].slice(0, -1).concat(LINES));
  } finally {
    closeSync(fd);
  }
});

test("a full pipe whose reader goes on loses no line", async () => {
  const { path, fd } = await openPipe("read");
  const copy = join(directory, "copy");
  const reader = Bun.spawn(["cat", path], { stdout: Bun.file(copy) });
  const write = lineWriter(fd);
  try {
    write(lineOf(0));
    await until(() => statSync(copy).size > 0, "the reader to read");
    for (let line = 1; line < LINES; line += 1) write(lineOf(line));
  } finally {
    closeSync(fd);
  }
  await reader.exited;
  const numbers = readFileSync(copy, "latin1").trimEnd().split("\n").map(Number);
  expect(numbers).toEqual([...Array(LINES).keys()]);
});
