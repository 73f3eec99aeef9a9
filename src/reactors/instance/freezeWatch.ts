import type { InstanceStatus, InstanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";
import { isFrozen as isFrozenIn } from "../../domain/instance/state.ts";
import { StoreError } from "../../ports/eventStore.ts";

/** Watches whether the log is frozen while this process works on it. */
export interface FreezeWatch {
  /**
   * True from when the log was first seen frozen until the process ends. A promise if it must be looked up, which throws
   * `StoreError`: whoever needs the log need not wait for it a second time.
   */
  isFrozen(): boolean | Promise<boolean>;
  /** The same; false if the log cannot be read. */
  isKnownFrozen(): Promise<boolean>;
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
    if (wasFrozen || !isFrozenIn(instance)) return;
    wasFrozen = true;
    clearInterval(timer);
    onFrozen();
  };
  const look = async () => note(await instanceStatus.get());
  const lookForAnswer = async () => {
    await look();
    return wasFrozen;
  };
  const isFrozen = () => {
    if (wasFrozen) return true;
    const known = instanceStatus.known();
    if (known === null) return lookForAnswer();
    note(known);
    return wasFrozen;
  };
  // While the store is away this process cannot write either.
  const timer = setInterval(() => look().catch(() => {}), POLL_INTERVAL_MS);
  return {
    isFrozen,
    isKnownFrozen: async () => {
      try {
        return await isFrozen();
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        return false;
      }
    },
    stop: () => clearInterval(timer),
  };
}
