import { readFile } from "node:fs/promises";
import { until } from "../../support/until.ts";

/** Calls that bring requests, answer them, write the log and wait for the disk. */
const CALLS = "fdatasync,fsync,pwrite64,pwritev,write,writev,sendto,sendmsg,recvfrom,recvmsg,read";
/** Enough of a buffer to tell a send's first line. */
const BUFFER_CHARS = 48;
const LOG_FILE = "/events.db-wal>";

/** A command prefix that writes the command's system calls to `file` and keeps its process id. */
export function tracer(file: string): readonly string[] {
  return ["strace", "-D", "-f", "-y", "-s", String(BUFFER_CHARS), "-e", `trace=${CALLS}`, "-o", file];
}

/** Why system calls cannot be watched here; null when they can. */
export async function whyNoTracer(): Promise<string | null> {
  if (!Bun.which("strace")) return "strace is not installed";
  const probe = Bun.spawn([...tracer("/dev/null"), "true"], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  if ((await probe.exited) === 0) return null;
  const [reason = ""] = (await new Response(probe.stderr).text()).split("\n");
  return `ptrace is refused (${reason})`;
}

/** One system call with the lines of the trace on which it began and ended. */
interface Call {
  readonly text: string;
  readonly began: number;
  readonly ended: number;
}

/** The calls of a trace in the order of their ends. A call that another thread interrupts stands on two lines. */
export function parseTrace(trace: string): readonly Call[] {
  const calls: Call[] = [];
  const open = new Map<string, { text: string; began: number }>();
  trace.split("\n").forEach((line, index) => {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (text.endsWith("<unfinished ...>")) {
      open.set(thread, { text: text.slice(0, -"<unfinished ...>".length), began: index });
      return;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
    const started = open.get(thread);
    if (resumed && started) {
      open.delete(thread);
      calls.push({ text: started.text + resumed[1], began: started.began, ended: index });
    } else calls.push({ text, began: index, ended: index });
  });
  return calls;
}

const isRequest = ({ text }: Call) =>
  /^(recvfrom|recvmsg|read)\(/.test(text) && text.includes('"POST /api/v1/emails');
const isAnswer = ({ text }: Call) =>
  /^(sendto|sendmsg|write|writev)\(/.test(text) && text.includes("HTTP/1.1 202");
const isLogWrite = ({ text }: Call) => /^pwrite(64|v)?\(|^writev?\(/.test(text) && text.includes(LOG_FILE);
const isLogSync = ({ text }: Call) =>
  /^f(data)?sync\(/.test(text) && text.includes(LOG_FILE) && /\) += 0$/.test(text.trimEnd());

export interface SyncFindings {
  /** 202s that were found in the trace. */
  readonly answers: number;
  readonly problems: readonly string[];
}

/**
 * Looks at requests that came one after another: between each one's arrival and its 202 the log must be
 * written, and after the last write of it the disk must have been waited for.
 */
export function checkSyncs(calls: readonly Call[]): SyncFindings {
  const problems: string[] = [];
  let answers = 0;
  let arrivedAt = -1;
  for (const call of calls) {
    if (isRequest(call)) arrivedAt = call.ended;
    if (!isAnswer(call)) continue;
    answers += 1;
    const problem = problemOf(calls, arrivedAt, call.began);
    if (problem) problems.push(`the 202 number ${answers} ${problem}`);
  }
  return { answers, problems };
}

function problemOf(calls: readonly Call[], arrivedAt: number, answeredAt: number): string | null {
  const callsBetween = calls.filter(({ began, ended }) => began > arrivedAt && ended < answeredAt);
  const written = callsBetween.filter(isLogWrite).at(-1);
  if (!written) return "was sent without the log being written";
  const synced = callsBetween.some((call) => isLogSync(call) && call.began > written.ended);
  return synced ? null : "was sent without an fdatasync or fsync of the log after it was written";
}

/** The trace in `file`, once the tracer has seen the end of `pid`. */
export async function readTrace(file: string, pid: number, timeoutMs: number): Promise<string> {
  const exitPattern = new RegExp(`^${pid} +\\+\\+\\+ (exited|killed)`, "m");
  let trace = "";
  const hasTracerSeenExit = async () => {
    trace = await readFile(file, "utf8");
    return exitPattern.test(trace);
  };
  await until(hasTracerSeenExit, "the tracer to see the end of the service", timeoutMs);
  return trace;
}
