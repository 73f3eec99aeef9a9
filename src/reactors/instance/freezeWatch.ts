import type { InstanceStatus, InstanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";

/** Whether the log was frozen while this process works on it. */
export interface FreezeWatch {
  /** True once the log was seen frozen, until the process ends. A promise where that must be looked up. */
  isFrozen(): boolean | Promise<boolean>;
  stop(): void;
}

const POLL_INTERVAL_MS = 500;

/**
 * Polls whether the log was frozen, and calls `onFrozen` once. A process does not come back from that: its caches are
 * from before the freeze, so it must be restarted after the log was unfrozen.
 */
export function watchFreeze(instanceStatus: InstanceStatusCache, onFrozen: () => void): FreezeWatch {
  let wasFrozen = false;
  const note = ({ instance }: InstanceStatus) => {
    if (wasFrozen || (instance?.frozenAt ?? null) === null) return;
    wasFrozen = true;
    clearInterval(timer);
    onFrozen();
  };
  const look = async () => note(await instanceStatus.get());
  const lookForAnswer = async () => {
    await look().catch(() => {});
    return wasFrozen;
  };
  // While the store is away nothing can be written here either.
  const timer = setInterval(() => look().catch(() => {}), POLL_INTERVAL_MS);
  return {
    isFrozen() {
      if (wasFrozen) return true;
      const known = instanceStatus.known();
      if (known === null) return lookForAnswer();
      note(known);
      return wasFrozen;
    },
    stop: () => clearInterval(timer),
  };
}
