import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { refuse } from "../program/command.ts";

/** Refuses a file in a directory that does not exist, before any work is done for it. */
export function requireDirectoryOf(file: string): void {
  const directory = dirname(file);
  if (!existsSync(directory)) refuse(`there is no directory ${directory}`);
}
