import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { diskSpaceOf } from "../../adapters/system/diskSpace.ts";
import { bytesText } from "../../kernel/text/readableNumbers.ts";
import { BackupError } from "./backupManifest.ts";

/** What is to be written to a directory, which need not be there yet. */
export interface RoomNeeded {
  readonly directory: string;
  readonly bytes: number;
}

/** A file system: the same number, the same one. */
interface FileSystem {
  readonly device: number;
  readonly freeBytes: number;
}

function fileSystemOf(directory: string): FileSystem {
  return { device: statSync(directory).dev, freeBytes: diskSpaceOf(directory).freeBytes() };
}

/** The directory, or the first one above it that is there. */
function existing(directory: string): string {
  return existsSync(directory) ? directory : existing(dirname(directory));
}

/** Throws {@link BackupError} where a file system has less room than all that is to be written to it takes. */
export function requireRoom(needed: readonly RoomNeeded[], fileSystem = fileSystemOf): void {
  const places = needed.map((need) => ({ ...need, ...fileSystem(existing(need.directory)) }));
  for (const { directory, device, freeBytes } of places) {
    const onDevice = places.filter((place) => place.device === device);
    const wanted = onDevice.reduce((sum, { bytes }) => sum + bytes, 0);
    if (wanted <= freeBytes) continue;
    const free = `there are ${bytesText(freeBytes)} free at ${directory}`;
    throw new BackupError(`${free}, and what is restored to that disk takes ${bytesText(wanted)}`);
  }
}
