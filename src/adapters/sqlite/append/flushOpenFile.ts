import { fdatasyncSync, fstatSync, readdirSync, statSync } from "node:fs";

/** Where Linux lists the open descriptors of a process. */
const OWN_DESCRIPTORS = "/proc/self/fd";

/**
 * Flushes a file through a descriptor that this process already has open: SQLite's. We must not open the file
 * ourselves, because closing any descriptor releases all locks of the process on the file
 * (https://sqlite.org/howtocorrupt.html, 2.2). False if no descriptor is found, or on systems that do not list them.
 * Throws when the disk fails.
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
      // It was closed after it was listed.
      return false;
    }
  };
  try {
    return readdirSync(OWN_DESCRIPTORS).map(Number).find(isWanted) ?? null;
  } catch {
    return null;
  }
}
