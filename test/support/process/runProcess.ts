/** What a process came to. */
export interface ProcessEnd {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command with exactly this environment, in `cwd` or where we are, and waits for its end. */
export async function runProcess(
  words: readonly string[],
  { env, cwd }: { readonly env: Readonly<Record<string, string | undefined>>; readonly cwd?: string },
): Promise<ProcessEnd> {
  const child = Bun.spawn([...words], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, out, err };
}
