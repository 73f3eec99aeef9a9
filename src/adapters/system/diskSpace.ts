import { statfsSync } from "node:fs";
import type { DiskSpace } from "../../ports/diskSpace.ts";

const MEASURE_EVERY_MS = 1_000;

/** The free space on the disk of `directory`, measured at most once a second. */
export function diskSpaceOf(directory: string): DiskSpace {
  let measuredAt = Number.NEGATIVE_INFINITY;
  let free = 0;
  return {
    freeBytes() {
      const now = performance.now();
      if (now - measuredAt >= MEASURE_EVERY_MS) {
        free = freeBytesOf(directory);
        measuredAt = now;
      }
      return free;
    },
  };
}

function freeBytesOf(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    // It was unmounted or removed, or its server does not answer, so nothing can be written there now.
    return 0;
  }
}
