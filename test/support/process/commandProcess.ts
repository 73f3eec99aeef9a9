import { join } from "node:path";
import { ROOT } from "../service.ts";

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

/** Begins one command with these settings. */
export function startCommand(
  env: Readonly<Record<string, string>>,
  ...words: readonly string[]
): RunningCommand {
  const child = Bun.spawn([process.execPath, join(ROOT, "src/main.ts"), ...words, "--json"], {
    env: { ...process.env, HOST: "127.0.0.1", DISK_FREE_BYTES_MIN: "0", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const ended = async (): Promise<CommandResult> => {
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { exitCode: await child.exited, err, json: out ? JSON.parse(out) : null };
  };
  return { pid: child.pid, result: ended(), kill: () => child.kill("SIGKILL") };
}

/** Runs one command to its end. */
export function runCommand(
  env: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<CommandResult> {
  return startCommand(env, ...words).result;
}
