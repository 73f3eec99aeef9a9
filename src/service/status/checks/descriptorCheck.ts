import { type Check, ok, warning } from "./check.ts";

/** Below this, idle connections of callers can use up all descriptors; then nothing is answered, nor delivered. */
const DESCRIPTORS_MIN = 4_096;

/** What it means for a caller in the process that it has no descriptor left. */
export const OUT_OF_DESCRIPTORS =
  "this process has as many files and connections open as it may, so it can open no further one";

export const DESCRIPTORS_REMEDY =
  "set LimitNOFILE=65536 in the unit file, or `ulimit -Hn 65536` before the start";

/** What is wrong with a limit of file descriptors; null if nothing is, or if nobody knows the limit. */
export function lowDescriptorLimit(limit: number | null): string | null {
  if (limit === null || limit >= DESCRIPTORS_MIN) return null;
  return `${limit} files and connections may be open at once, fewer than ${DESCRIPTORS_MIN}: without a free one the service answers nothing and delivers nothing`;
}

/** Whether the process may have enough files and connections open. None on systems that do not say. */
export function descriptorChecks(limit: number | null): readonly Check[] {
  if (limit === null) return [];
  const name = "file descriptors";
  const low = lowDescriptorLimit(limit);
  return [low === null ? ok(name, `${limit} at most`) : warning(name, low, DESCRIPTORS_REMEDY)];
}
