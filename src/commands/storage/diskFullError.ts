import { StoreError } from "../../ports/eventStore.ts";
import type { Dependencies } from "../dependencies.ts";

/** There is less free space than the service keeps for itself: nothing was written. */
export class DiskFullError extends StoreError {
  constructor() {
    super("unavailable", "the data directory's disk is nearly full");
  }
}

/** Whether something large may be written. */
export function hasDiskSpace({
  disk,
  diskFreeBytesMin,
}: Pick<Dependencies, "disk" | "diskFreeBytesMin">): boolean {
  return disk.freeBytes() >= diskFreeBytesMin;
}
