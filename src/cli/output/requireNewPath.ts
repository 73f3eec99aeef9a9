import { existsSync } from "node:fs";
import { refuse } from "../program/command.ts";

/** Refuses a path at which there is something already, before any work is done for it: nothing is overwritten. */
export function requireNewPath(path: string): void {
  if (existsSync(path)) refuse(`${path} already exists`);
}
