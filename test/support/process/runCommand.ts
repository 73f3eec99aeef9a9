import { sharedCommandProcess } from "./commandProcess.ts";
import { COMMAND_LINE } from "./program.ts";
import { type ProcessResult, runProcess } from "./runProcess.ts";

type Environment = Readonly<Record<string, string>>;

/** What a command of the command line returned and printed. */
export interface CommandResult extends ProcessResult {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape.
  readonly json: any;
}

/** The environment of a command on a data directory. */
export function commandEnv(dataDir: string, env: Environment = {}): Record<string, string> {
  const settings = { HOST: "127.0.0.1", DATA_DIR: dataDir, DISK_FREE_BYTES_MIN: "0", LOG_LEVEL: "silent" };
  return { ...(process.env as Record<string, string>), ...settings, ...env };
}

/**
 * Runs one command beside the test: in a process that all commands of its process share, one after another. With
 * `--json` among its words, `json` is what it printed.
 */
export async function runCommand(
  words: readonly string[],
  dataDir: string,
  env?: Environment,
): Promise<CommandResult> {
  const call = { words, env: commandEnv(dataDir, env) };
  const { status: exitCode, out, err } = await sharedCommandProcess().run(call);
  return withJson(words, { exitCode, out, err });
}

/** Runs one command as {@link runCommand} does, in a process of its own: a start of the service, say. */
export async function runProgram(
  words: readonly string[],
  dataDir: string,
  env?: Environment,
): Promise<CommandResult> {
  return withJson(words, await runProcess([...COMMAND_LINE, ...words], { env: commandEnv(dataDir, env) }));
}

function withJson(words: readonly string[], result: ProcessResult): CommandResult {
  const json = words.includes("--json") && result.out !== "" ? JSON.parse(result.out) : null;
  return { ...result, json };
}
