import { writeSync } from "node:fs";

/** How often, and how long each time, to wait for the reader of a full pipe before a line is dropped. */
const FULL_WAIT_MS = 10;
const FULL_WAITS_MAX = 100;

/**
 * Writes each line at once. A line that cannot be written is dropped and must not stop the service: the terminal was
 * closed, the disk is full, or nobody reads the pipe. It keeps at most the rest of one line, which it writes before
 * the next one, so no line runs into another.
 */
export function lineWriter(fd: number): (line: string) => void {
  let rest = Buffer.alloc(0);
  let isFailing = false;
  return (line) => {
    const bytes = Buffer.concat([rest, Buffer.from(line)]);
    // Only the first line that fails waits, so a reader that hangs stops the event loop once.
    const written = writeAll(fd, bytes, isFailing ? 0 : FULL_WAITS_MAX);
    isFailing = written < bytes.length;
    const isBegun = written > rest.length;
    rest = isBegun ? bytes.subarray(written) : rest.subarray(written);
  };
}

/** Writes until all is written or a write fails, and returns how many bytes were written. */
function writeAll(fd: number, bytes: Buffer, waitsMax: number): number {
  let written = 0;
  for (let waits = 0; written < bytes.length; ) {
    try {
      written += writeSync(fd, bytes, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || waits === waitsMax) break;
      waits += 1;
      Bun.sleepSync(FULL_WAIT_MS);
    }
  }
  return written;
}
