import { statSync } from "node:fs";
import { join } from "node:path";

/** Group and others, in a mode of a file or directory. */
const GROUP = 0o070;
const OTHERS = 0o007;
const READ = 0o444;
const ENTER = 0o111;

/** What is wrong, and what to do about it. */
export interface KeyExposure {
  readonly detail: string;
  readonly remedy: string;
}

/** Whether other users of the machine can read the master key in the data directory; null when they can't. */
export function masterKeyExposure(dataDir: string): KeyExposure | null {
  const path = join(dataDir, "master.key");
  const file = statSync(path, { throwIfNoEntry: false });
  const directory = statSync(dataDir, { throwIfNoEntry: false });
  if (!file || !directory) return null;
  const isOpenTo = (whom: number) => (file.mode & READ & whom) !== 0 && (directory.mode & ENTER & whom) !== 0;
  if (!isOpenTo(GROUP) && !isOpenTo(OTHERS)) return null;
  return { detail: `${path} can be read by other users of this machine`, remedy: `chmod 600 ${path}` };
}
