import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Overwrites an SQLite file from a byte on, and removes its `-wal` and `-shm` files. Nobody may have it open. */
export function overwriteDatabase(path: string, from: number): void {
  writeFileSync(path, readFileSync(path).fill("x", from));
  for (const ending of ["-wal", "-shm"]) rmSync(path + ending, { force: true });
}
