import { readdir, rm, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { invariant } from "../../kernel/assert.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { OutboxErasure } from "../../ports/mail/outboxErasure.ts";
import { nullIfMissing } from "../durableFiles/durableFile.ts";

/** How long to reuse a list of half-written files, because messages are erased one after another. */
const LIST_AGE_MS_MAX = 1_000;

interface HalfWritten {
  readonly names: readonly string[];
  readonly at: number;
}

/**
 * Erases the files that outbox transports have written to these directories: `<message id>.eml`. Of the `earlier` ones,
 * which no transport writes to any more, those that cannot be used are passed over: a disk that was taken away for good
 * must not stop all erasures.
 */
export function outboxErasure(
  directories: readonly string[],
  earlier: readonly string[] = [],
): OutboxErasure {
  const known = new Map<string, HalfWritten>();
  const halfWritten = async (directory: string): Promise<readonly string[]> => {
    const before = known.get(directory);
    if (before && performance.now() - before.at < LIST_AGE_MS_MAX) return before.names;
    const names = (await readdir(directory)).filter((name) => name.endsWith(".tmp"));
    known.set(directory, { names, at: performance.now() });
    return names;
  };
  const removeFrom = async (directory: string, emailId: string): Promise<boolean> => {
    if (!(await hasFound(stat(directory)))) return false;
    // A process that died while writing leaves a file that nobody renames any more.
    for (const name of await halfWritten(directory)) {
      if (name.startsWith(`${emailId}.eml.`)) await rm(join(directory, name), { force: true });
    }
    return hasFound(unlink(join(directory, `${emailId}.eml`)));
  };
  return {
    async remove(emailId) {
      invariant(/^[0-9A-Za-z-]+$/.test(emailId), "a message id is a file name");
      try {
        let removed = false;
        for (const directory of earlier)
          removed = (await removeFrom(directory, emailId).catch(() => false)) || removed;
        for (const directory of directories) removed = (await removeFrom(directory, emailId)) || removed;
        return removed;
      } catch (error) {
        throw new StoreError("unavailable", "the outbox cannot be used", { cause: error });
      }
    },
  };
}

/** Whether `work` on a file or directory found it. */
async function hasFound(work: Promise<unknown>): Promise<boolean> {
  return (await work.catch(nullIfMissing)) !== null;
}
