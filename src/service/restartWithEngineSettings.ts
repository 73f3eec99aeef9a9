/** Only whole free pages go back to the system, and only after a second: most are needed again before. */
export const ALLOCATOR_SETTINGS = { MIMALLOC_PURGE_HOLES: "0", MIMALLOC_PURGE_DELAY: "1000" } as const;

/**
 * Settings of Bun's JavaScript engine and memory allocator for a service, which read them only when the process starts:
 * docs/performance.md, "Settings of the engine".
 */
export const ENGINE_SETTINGS: Readonly<Record<string, string>> = {
  // The heap grows as on a machine with 320 MiB, by half at a time.
  BUN_JSC_forceRAMSize: String(320 * 1_024 * 1_024),
  BUN_JSC_largeHeapGrowthFactor: "1.55",
  // The last compiler costs more than its code gains.
  BUN_JSC_useFTLJIT: "0",
  ...ALLOCATOR_SETTINGS,
};

/** Where the modules of a program are that is compiled into its executable (`bun build --compile`). */
const COMPILED = "/$bunfs/";
/** A file by its descriptor, as of a shell's process substitution: replacing the process closes it. */
const OPEN_FILE = /^\/(dev|proc\/self)\/fd\//;

/**
 * Starts this program again in the same process (execve) with the settings that its environment lacks. Returns if it
 * lacks none, or if the process cannot be replaced: then the service works as well, but slower.
 */
export function restartWithEngineSettings(): void {
  const { env } = process;
  const lacksNone = Object.keys(ENGINE_SETTINGS).every((name) => env[name] !== undefined);
  const readsDescriptor = Object.values(env).some((value) => OPEN_FILE.test(value ?? ""));
  if (lacksNone || readsDescriptor || process.execve === undefined) return;
  const { options, ...changed } = bunInvocation();
  try {
    const args = [process.execPath, ...options, ...process.argv.slice(2)];
    process.execve(process.execPath, args, { ...ENGINE_SETTINGS, ...env, ...changed });
  } catch {
    // The executable was replaced after it was started, or a policy of the system forbids it.
  }
}

/** Bun's own arguments, before those of the program, and what to change in the environment. */
function bunInvocation(): { readonly options: readonly string[]; readonly BUN_OPTIONS?: undefined } {
  // A compiled program has its module and its options inside.
  if (Bun.main.startsWith(COMPILED)) return { options: [] };
  const { execArgv } = process;
  // We are in that directory already.
  const isDirectory = (arg: string, at: number) => /^--cwd(=|$)/.test(arg) || execArgv[at - 1] === "--cwd";
  // `execArgv` includes the options of BUN_OPTIONS.
  const options = [...execArgv.filter((arg, at) => !isDirectory(arg, at)), Bun.main];
  return { options, BUN_OPTIONS: undefined };
}
