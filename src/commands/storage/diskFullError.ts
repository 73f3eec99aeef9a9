import { StoreError } from "../../ports/eventStore.ts";
import type { Dependencies } from "../dependencies.ts";

/** The disk is full, or has less free space than the service reserves for itself. Nothing was written. */
export class DiskFullError extends StoreError {
  constructor(message = "the data directory's disk is nearly full") {
    super("unavailable", message);
  }
}

/** Whether there is enough room to write content. */
export function hasDiskSpace({
  disk,
  diskFreeBytesMin,
}: Pick<Dependencies, "disk" | "diskFreeBytesMin">): boolean {
  return disk.freeBytes() >= diskFreeBytesMin;
}
