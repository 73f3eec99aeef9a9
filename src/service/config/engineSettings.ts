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
  // Only whole free pages go back to the system, and only after a second: most are needed again before.
  MIMALLOC_PURGE_HOLES: "0",
  MIMALLOC_PURGE_DELAY: "1000",
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
  const { words, ...again } = startOfBun();
  try {
    const all = [process.execPath, ...words, ...process.argv.slice(2)];
    process.execve(process.execPath, all, { ...ENGINE_SETTINGS, ...env, ...again });
  } catch {
    // The executable was replaced after it was started, or a policy of the system forbids it.
  }
}

/** How Bun was started: the words before the program's own, and what to change in the environment. */
function startOfBun(): { readonly words: readonly string[]; readonly BUN_OPTIONS?: undefined } {
  // A compiled program has its module and its options inside.
  if (Bun.main.startsWith(COMPILED)) return { words: [] };
  const { execArgv } = process;
  // We are in that directory already.
  const isOfDirectory = (word: string, at: number) =>
    /^--cwd(=|$)/.test(word) || execArgv[at - 1] === "--cwd";
  const words = [...execArgv.filter((word, at) => !isOfDirectory(word, at)), Bun.main];
  // They are among `execArgv`.
  return { words, BUN_OPTIONS: undefined };
}
