import { fdatasyncSync, fstatSync, readdirSync, statSync } from "node:fs";

/** Where Linux lists what a process has open. */
const OWN_DESCRIPTORS = "/proc/self/fd";

/**
 * Waits until what was written to a file is on disk, by a descriptor that somebody in this process has open: SQLite's. Opening
 * the file for it would not do, because closing a descriptor ends all locks that its process has on the file
 * (https://sqlite.org/howtocorrupt.html, 2.2). False where none is found, and on systems that do not list them. Throws
 * when the disk has failed.
 */
export function flushOpenFile(path: string): boolean {
  const descriptor = openDescriptorOf(path);
  if (descriptor !== null) fdatasyncSync(descriptor);
  return descriptor !== null;
}

function openDescriptorOf(path: string): number | null {
  const wanted = statSync(path, { throwIfNoEntry: false, bigint: true });
  const isWanted = (descriptor: number) => {
    try {
      const { dev, ino } = fstatSync(descriptor, { bigint: true });
      return dev === wanted?.dev && ino === wanted.ino;
    } catch {
      // Closed since it was listed.
      return false;
    }
  };
  try {
    return readdirSync(OWN_DESCRIPTORS).map(Number).find(isWanted) ?? null;
  } catch {
    return null;
  }
}
