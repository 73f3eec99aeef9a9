import { lstatSync } from "node:fs";
import { refuse } from "../program/command.ts";

/**
 * Refuses a path at which there is something already, before any work is done for it: nothing is overwritten. A link that
 * leads nowhere is something, too.
 */
export function requireNewPath(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) refuse(`${path} already exists`);
}
