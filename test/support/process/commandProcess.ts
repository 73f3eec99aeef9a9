import { join } from "node:path";
import { recordingEnv } from "../../events/recorded.ts";
import { atEndOfTests } from "../endOfTests.ts";

/** A call of the command line. */
export interface CommandCall {
  readonly words: readonly string[];
  /** The working directory; by default that of the tests. */
  readonly cwd?: string;
  /** Set in addition to PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The exit status of a call, and what it printed. */
export interface CommandCallResult {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** A process that makes calls one after another: most of the time of a process goes into loading the program. */
export interface CommandProcess {
  /** Whether it has ended: by {@link end}, or because a command has ended it. */
  hasEnded(): boolean;
  /** Rejects if the process has ended, or ends instead of the call. */
  run(call: CommandCall): Promise<CommandCallResult>;
  end(): Promise<unknown>;
}

const PROGRAM = join(import.meta.dir, "callsProgram.ts");

/** Starts one, under the user id if there is one. It ends with us. */
export function startCommandProcess(user: number | null = null): CommandProcess {
  /** Who waits for the results of calls, in the order of the calls. */
  const waiting: PromiseWithResolvers<CommandCallResult>[] = [];
  let ended: Error | null = null;
  const child = Bun.spawn([process.execPath, PROGRAM, ...(user === null ? [] : [String(user)])], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...recordingEnv() },
    stdin: "ignore",
    stdout: "inherit",
    ipc: (result: CommandCallResult) => waiting.shift()?.resolve(result),
    onExit: (_child, status) => {
      ended = new Error(`the process of the calls ended with status ${status}`);
      for (const { reject } of waiting.splice(0)) reject(ended);
    },
  });
  return {
    hasEnded: () => ended !== null,
    run(call) {
      if (ended !== null) return Promise.reject(ended);
      const result = Promise.withResolvers<CommandCallResult>();
      waiting.push(result);
      child.send(call);
      return result.promise;
    },
    end() {
      if (ended === null) child.disconnect();
      return child.exited;
    },
  };
}

/** Test files may each load their own copy of this module, but share one process. */
const SHARED = Symbol.for("test.commandProcess");
const shared = globalThis as { [SHARED]?: CommandProcess };

/** The process for the calls of all tests of this process. */
export function sharedCommandProcess(): CommandProcess {
  if (shared[SHARED] === undefined || shared[SHARED].hasEnded()) {
    shared[SHARED] = startCommandProcess();
    atEndOfTests(shared[SHARED].end);
  }
  return shared[SHARED];
}
