import type { WritingThreads } from "../../adapters/sqlite/append/openLogWriter.ts";

/** The read models' thread and whoever calls us take the second core: docs/performance.md, "Which threads write". */
const WRITER_THREAD_CORES_MIN = 3;

/** Which threads write an embedded log for a process that takes requests meanwhile, on a machine with so many cores. */
export function writingThreadsFor(cores: number): Exclude<WritingThreads, "caller"> {
  return cores >= WRITER_THREAD_CORES_MIN ? "own" : "flushedAside";
}
