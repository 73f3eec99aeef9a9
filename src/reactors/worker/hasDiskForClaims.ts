import type { Dependencies } from "../../commands/dependencies.ts";

/** Whether there is disk space for claims: below half of the minimum none is made, so that outcomes still find room. */
export function hasDiskForClaims({
  disk,
  diskFreeBytesMin,
}: Pick<Dependencies, "disk" | "diskFreeBytesMin">): boolean {
  return disk.freeBytes() >= diskFreeBytesMin / 2;
}
