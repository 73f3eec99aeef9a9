import type { StandingCache } from "../../commands/instance/instanceStatusCache.ts";

/** Whether the log that this process works on still goes on here. */
export interface SealWatch {
  /** True from when the log was seen to be sealed to the end of the process. */
  isSealed(): Promise<boolean>;
  stop(): void;
}

const LOOK_MS = 500;

/**
 * Looks whether the log was sealed, and says so once. There is no way back for a process: what it knows of the log is
 * of before, so it is started again when the log was unsealed.
 */
export function watchSeal(standing: StandingCache, onSealed: () => void): SealWatch {
  let wasSealed = false;
  const look = async () => {
    const { instance } = await standing.get();
    if (wasSealed || (instance?.sealedAt ?? null) === null) return;
    wasSealed = true;
    clearInterval(timer);
    onSealed();
  };
  // While the store is away nothing can be written here either.
  const timer = setInterval(() => look().catch(() => {}), LOOK_MS);
  return {
    async isSealed() {
      if (!wasSealed) await look().catch(() => {});
      return wasSealed;
    },
    stop: () => clearInterval(timer),
  };
}
