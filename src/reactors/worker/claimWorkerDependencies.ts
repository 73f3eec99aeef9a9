import type { DeliveryGate } from "../instance/deliveryGate.ts";

/** What every worker needs that claims work, so that only one instance does it. */
export interface ClaimWorkerDependencies {
  readonly deliveryGate: DeliveryGate;
  /** Names this worker process in claims. */
  readonly worker: string;
  /** See {@link ExpiredLeases}. */
  readonly endedWorker: string | null;
  /** Whether other instances may work on the same log. */
  readonly isLogShared: boolean;
  /** In [0, 1). */
  readonly random: () => number;
  /** Aborts when the worker must claim nothing more. */
  readonly stopping: AbortSignal;
  /** Aborts when the process is about to end and can no longer wait for outcomes. */
  readonly abandoned: AbortSignal;
  readonly onTrouble: (error: unknown, id: string) => void;
}
