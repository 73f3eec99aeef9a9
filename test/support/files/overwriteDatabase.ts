import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Writes over an SQLite file from a byte on, and takes away what SQLite has beside it. Nobody may have it open. */
export function overwriteDatabase(path: string, from: number): void {
  writeFileSync(path, readFileSync(path).fill("x", from));
  for (const ending of ["-wal", "-shm"]) rmSync(path + ending, { force: true });
}
