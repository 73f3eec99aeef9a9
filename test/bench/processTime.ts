import { readdirSync, readFileSync } from "node:fs";

/** What `getconf CLK_TCK` says on every Linux. */
const TICKS_PER_SECOND = 100;
const TICK_US = 1e6 / TICKS_PER_SECOND;

/** The fields of /proc/<pid>/stat (proc(5)) that are looked at, counted from the one after the name. */
const PARENT = 1;
const USER = 11;
const SYSTEM = 12;
const USER_OF_ENDED_CHILDREN = 13;
const SYSTEM_OF_ENDED_CHILDREN = 14;

/** Empty where the process is gone. */
function statOf(pid: number): readonly string[] {
  try {
    // The name is in parentheses and may hold anything.
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return [];
  }
}

function sumUs(stat: readonly string[], fields: readonly number[]): number {
  return fields.reduce((sum, field) => sum + Number(stat[field] ?? 0), 0) * TICK_US;
}

/** Processor time of a process so far, with all its threads, user and system, in µs; counted in steps of 10 ms. */
export function cpuUsOf(pid: number): number {
  return sumUs(statOf(pid), [USER, SYSTEM]);
}

/** The same of a process and its children, those that have ended included: a server that forks for each connection. */
export function cpuUsWithChildren(pid: number): number {
  const own = sumUs(statOf(pid), [USER, SYSTEM, USER_OF_ENDED_CHILDREN, SYSTEM_OF_ENDED_CHILDREN]);
  return processes()
    .map(statOf)
    .filter((stat) => Number(stat[PARENT]) === pid)
    .reduce((sum, stat) => sum + sumUs(stat, [USER, SYSTEM]), own);
}

function processes(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The processor time of each thread of a process, in µs, by the thread's id; the first one's is that of the process. */
export function cpuUsByThread(
  pid: number,
): ReadonlyMap<number, { readonly name: string; readonly cpuUs: number }> {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) => {
    const directory = `/proc/${pid}/task/${id}`;
    const stat = readFileSync(`${directory}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return [
      Number(id),
      { name: readFileSync(`${directory}/comm`, "utf8"), cpuUs: sumUs(stat, [USER, SYSTEM]) },
    ] as const;
  });
  return new Map(threads);
}
