import { COMMAND_LINE } from "./program.ts";
import type { CommandResult } from "./runCommand.ts";
import { startProcess } from "./runProcess.ts";

type Environment = Readonly<Record<string, string>>;

/** A command in its own process, which can be killed. */
export interface RunningCommand {
  readonly pid: number;
  readonly result: Promise<CommandResult>;
  kill(): void;
}

/** Starts one command with `--json` and these settings. */
export function startJsonCommand(env: Environment, ...words: readonly string[]): RunningCommand {
  const { pid, ended, kill } = startProcess([...COMMAND_LINE, ...words, "--json"], {
    env: { ...process.env, HOST: "127.0.0.1", DISK_FREE_BYTES_MIN: "0", ...env },
  });
  const result = ended.then((end) => ({ ...end, json: end.out ? JSON.parse(end.out) : null }));
  return { pid, result, kill: () => kill("SIGKILL") };
}

/** Runs one command as {@link startJsonCommand} does, and waits until it ends. */
export function runJsonCommand(env: Environment, ...words: readonly string[]): Promise<CommandResult> {
  return startJsonCommand(env, ...words).result;
}
