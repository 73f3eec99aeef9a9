import { statfsSync } from "node:fs";
import type { DiskSpace } from "../../ports/diskSpace.ts";

const MEASURE_EVERY_MS = 1_000;

/** The room on the disk that holds `directory`, measured at most once a second. */
export function diskSpaceOf(directory: string): DiskSpace {
  let measuredAt = Number.NEGATIVE_INFINITY;
  let free = 0;
  return {
    freeBytes() {
      const now = performance.now();
      if (now - measuredAt >= MEASURE_EVERY_MS) {
        const { bavail, bsize } = statfsSync(directory);
        free = bavail * bsize;
        measuredAt = now;
      }
      return free;
    },
  };
}
