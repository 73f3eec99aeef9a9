import { timingSafeEqual } from "node:crypto";

/** Whether two texts are equal, in a time that does not depend on where they differ. */
export function equalInConstantTime(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}
