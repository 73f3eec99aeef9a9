import type { InstanceStatus, InstanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";
import { isFrozen } from "../../domain/instance/state.ts";

/** Watches whether the log is frozen while this process works on it. */
export interface FreezeWatch {
  /** True from when the log was first seen frozen until the process ends. A promise if it must be looked up. */
  isFrozen(): boolean | Promise<boolean>;
  stop(): void;
}

const POLL_INTERVAL_MS = 500;

/**
 * Polls whether the log is frozen, and calls `onFrozen` once. A process cannot recover from that: its caches are
 * older than the freeze, so it must restart after the log is unfrozen.
 */
export function watchFreeze(instanceStatus: InstanceStatusCache, onFrozen: () => void): FreezeWatch {
  let wasFrozen = false;
  const note = ({ instance }: InstanceStatus) => {
    if (wasFrozen || !isFrozen(instance)) return;
    wasFrozen = true;
    clearInterval(timer);
    onFrozen();
  };
  const look = async () => note(await instanceStatus.get());
  const lookForAnswer = async () => {
    await look().catch(() => {});
    return wasFrozen;
  };
  // While the store is away this process cannot write either.
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
