import { COMMAND_LINE } from "./program.ts";
import { startProcess } from "./runProcess.ts";

type Environment = Readonly<Record<string, string>>;

/** What a command of the command line has said. */
export interface CommandResult {
  readonly exitCode: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape.
  readonly json: any;
  readonly err: string;
}

/** A command in a process of its own, which can be killed. */
export interface RunningCommand {
  readonly pid: number;
  readonly result: Promise<CommandResult>;
  kill(): void;
}

/** Begins one command with these settings, which prints JSON. */
export function startJsonCommand(env: Environment, ...words: readonly string[]): RunningCommand {
  const { pid, ended, kill } = startProcess([...COMMAND_LINE, ...words, "--json"], {
    env: { ...process.env, HOST: "127.0.0.1", DISK_FREE_BYTES_MIN: "0", ...env },
  });
  const result = ended.then(({ exitCode, out, err }) => ({
    exitCode,
    err,
    json: out ? JSON.parse(out) : null,
  }));
  return { pid, result, kill: () => kill("SIGKILL") };
}

/** Runs one command to its end. */
export function runJsonCommand(env: Environment, ...words: readonly string[]): Promise<CommandResult> {
  return startJsonCommand(env, ...words).result;
}
