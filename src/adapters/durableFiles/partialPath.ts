import { readFileSync, readlinkSync } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { sha256Of } from "../../kernel/crypto/sha256.ts";

/**
 * Identifies where a process id means this process and no other: the boot (proc(5)) and the namespace of process ids,
 * because a directory may be shared between machines and containers. Null where nobody can tell.
 */
const PROCESS_SPACE = processSpace();

function processSpace(): string | null {
  try {
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8");
    const namespace = readlinkSync("/proc/self/ns/pid");
    return sha256Of(`${bootId} ${namespace}`).slice(0, 16);
  } catch {
    return null;
  }
}

/** A name of this process's own beside `target` for what is not complete yet: `<target>.<id>.partial`. */
export function partialPath(target: string): string {
  const maker = PROCESS_SPACE === null ? "" : `${PROCESS_SPACE}-${process.pid}-`;
  return `${target}.${maker}${crypto.randomUUID()}.partial`;
}

/**
 * Runs `make` on a {@link partialPath}, beside `target` or a hidden name of it, which is then renamed to `target`. A
 * failure leaves nothing that can be removed; a dead process leaves the partial path, which the next call removes.
 */
export async function nameWhenComplete<Result>(
  target: string,
  make: (partial: string) => Promise<Result>,
  beside = target,
): Promise<Result> {
  await removeDeadPartials(beside);
  const partial = partialPath(beside);
  try {
    const result = await make(partial);
    await rename(partial, target);
    return result;
  } catch (error) {
    // A failure to remove it must not hide why it was not completed.
    await rm(partial, { recursive: true, force: true }).catch(() => {});
    // If closing the file fails as well, the first failure says more.
    throw error instanceof SuppressedError ? error.suppressed : error;
  }
}

/** Removes what dead processes have left under the {@link partialPath} of this target. Never throws. */
export async function removeDeadPartials(target: string): Promise<void> {
  const prefix = `${basename(target)}.`;
  const names = await readdir(dirname(target)).catch(() => []);
  for (const name of names) {
    const isDead = name.startsWith(prefix) && isOfDeadProcess(name.slice(prefix.length));
    if (isDead) await rm(join(dirname(target), name), { recursive: true, force: true }).catch(() => {});
  }
}

const PARTIAL = /^([\da-f]{16})-(\d{1,10})-[\da-f-]{36}\.partial$/;

function isOfDeadProcess(rest: string): boolean {
  const [, space, pid] = PARTIAL.exec(rest) ?? [];
  if (space !== PROCESS_SPACE || pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    // A process of another user gives EPERM.
    return (error as { code?: string }).code === "ESRCH";
  }
}
