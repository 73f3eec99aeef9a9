type Environment = Readonly<Record<string, string | undefined>>;

/** The exit code and output of a process. */
export interface ProcessResult {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** A process that can be stopped. */
export interface RunningProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessResult>;
  kill(signal: NodeJS.Signals): void;
}

interface ProcessOptions {
  readonly env: Environment;
  readonly cwd?: string;
}

/** Starts a command with exactly this environment, in `cwd` or the current directory. */
export function startProcess(words: readonly string[], { env, cwd }: ProcessOptions): RunningProcess {
  const child = Bun.spawn([...words], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const result = async (): Promise<ProcessResult> => {
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { exitCode: await child.exited, out, err };
  };
  return { pid: child.pid, ended: result(), kill: (signal) => child.kill(signal) };
}

/** Runs a command as {@link startProcess} does, and waits until it ends. */
export function runProcess(words: readonly string[], options: ProcessOptions): Promise<ProcessResult> {
  return startProcess(words, options).ended;
}
