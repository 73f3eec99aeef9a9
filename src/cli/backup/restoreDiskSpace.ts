import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { diskSpaceOf } from "../../adapters/system/diskSpace.ts";
import { bytesText } from "../../kernel/text/readableNumbers.ts";
import { refuse } from "../program/command.ts";

/** How much to write to a directory, which need not exist yet. */
interface RoomNeeded {
  readonly directory: string;
  readonly bytes: number;
}

/** A file system; equal device numbers mean the same one. */
interface FileSystem {
  readonly device: number;
  readonly freeBytes: number;
}

function fileSystemOf(directory: string): FileSystem {
  return { device: statSync(directory).dev, freeBytes: diskSpaceOf(directory).freeBytes() };
}

/** The directory, or its nearest ancestor that exists. */
function nearestExisting(directory: string): string {
  return existsSync(directory) ? directory : nearestExisting(dirname(directory));
}

/** Refuses if a file system has too little room for everything to be written to it. */
export function requireRoom(needed: readonly RoomNeeded[], fileSystem = fileSystemOf): void {
  const places = needed.map((need) => ({ ...need, ...fileSystem(nearestExisting(need.directory)) }));
  for (const { directory, device, freeBytes } of places) {
    const onDevice = places.filter((place) => place.device === device);
    const wanted = onDevice.reduce((sum, { bytes }) => sum + bytes, 0);
    if (wanted <= freeBytes) continue;
    const free = `there are ${bytesText(freeBytes)} free at ${directory}`;
    refuse(`${free}, and what is restored to that disk needs ${bytesText(wanted)}`);
  }
}
