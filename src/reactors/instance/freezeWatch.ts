import type { InstanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";

/** Tells whether the log was frozen while this process works on it. */
export interface FreezeWatch {
  /** True once the log was seen frozen, until the process ends. */
  isFrozen(): Promise<boolean>;
  stop(): void;
}

const LOOK_MS = 500;

/**
 * Polls whether the log was frozen, and calls `onFrozen` once. A process does not come back from that: its caches are
 * from before the freeze, so it must be restarted after the log was unfrozen.
 */
export function watchFreeze(instanceStatus: InstanceStatusCache, onFrozen: () => void): FreezeWatch {
  let wasFrozen = false;
  const look = async () => {
    const { instance } = await instanceStatus.get();
    if (wasFrozen || (instance?.frozenAt ?? null) === null) return;
    wasFrozen = true;
    clearInterval(timer);
    onFrozen();
  };
  // While the store is away nothing can be written here either.
  const timer = setInterval(() => look().catch(() => {}), LOOK_MS);
  return {
    async isFrozen() {
      if (!wasFrozen) await look().catch(() => {});
      return wasFrozen;
    },
    stop: () => clearInterval(timer),
  };
}
