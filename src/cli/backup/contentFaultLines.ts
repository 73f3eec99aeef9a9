import { counted, firstOf } from "../../kernel/text/readableNumbers.ts";
import type { ContentFault } from "./followedCopy.ts";

/** How many files to name one by one. */
const FILES_SHOWN_MAX = 20;

/** What to tell about content that is missing or damaged; nothing if none is. */
export function contentFaultLines(faults: readonly ContentFault[]): readonly string[] {
  if (faults.length === 0) return [];
  const { shown, others } = firstOf(FILES_SHOWN_MAX, faults);
  return [
    `${counted(faults.length, "file")} of content missing or damaged:`,
    ...shown.map(({ path, what }) => `  ${what}: ${path}`),
    ...(others === null ? [] : [`  ${others}`]),
  ];
}
