type Environment = Readonly<Record<string, string | undefined>>;

/** What a process came to. */
export interface ProcessEnd {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** A process that can be stopped. */
export interface RunningProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  kill(signal: NodeJS.Signals): void;
}

interface ProcessOptions {
  readonly env: Environment;
  readonly cwd?: string;
}

/** Begins a command with exactly this environment, in `cwd` or where we are. */
export function startProcess(words: readonly string[], { env, cwd }: ProcessOptions): RunningProcess {
  const child = Bun.spawn([...words], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const end = async (): Promise<ProcessEnd> => {
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { exitCode: await child.exited, out, err };
  };
  return { pid: child.pid, ended: end(), kill: (signal) => child.kill(signal) };
}

/** Runs a command as {@link startProcess} does, and waits for its end. */
export function runProcess(words: readonly string[], options: ProcessOptions): Promise<ProcessEnd> {
  return startProcess(words, options).ended;
}
