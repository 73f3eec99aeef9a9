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

/**
 * Starts this program again in the same process (execve) with the settings that its environment lacks. Returns if it
 * lacks none, or if the process cannot be replaced: then the service works as well, but slower.
 */
export function restartWithEngineSettings(): void {
  const lacksNone = Object.keys(ENGINE_SETTINGS).every((name) => process.env[name] !== undefined);
  if (lacksNone || process.execve === undefined) return;
  const module = Bun.main.startsWith(COMPILED) ? [] : [Bun.main];
  const words = [process.execPath, ...process.execArgv, ...module, ...process.argv.slice(2)];
  try {
    process.execve(process.execPath, words, { ...ENGINE_SETTINGS, ...process.env });
  } catch {
    // The executable was replaced after it was started, or a policy of the system forbids it.
  }
}
