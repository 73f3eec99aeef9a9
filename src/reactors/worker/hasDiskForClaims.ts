import type { Dependencies } from "../../commands/dependencies.ts";

/** Whether there is disk space for claims. Claims stop below half of the minimum, to leave room for outcomes. */
export function hasDiskForClaims({
  disk,
  diskFreeBytesMin,
}: Pick<Dependencies, "disk" | "diskFreeBytesMin">): boolean {
  return disk.freeBytes() >= diskFreeBytesMin / 2;
}
