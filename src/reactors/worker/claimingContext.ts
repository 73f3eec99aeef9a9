import type { SendGate } from "../instance/sendGate.ts";

/** What every worker has that claims work, so that one instance does it. */
export interface ClaimingContext {
  readonly sendGate: SendGate;
  /** Names this worker process in claims. */
  readonly worker: string;
  /** See {@link ExpiredLeases}. */
  readonly endedWorker: string | null;
  /** In [0, 1). */
  readonly random: () => number;
  /** Aborts when nothing more is to be claimed. */
  readonly stopping: AbortSignal;
  /** Aborts when outcomes can no longer be waited for: the process is about to end. */
  readonly abandoned: AbortSignal;
  readonly onTrouble: (error: unknown, id: string) => void;
}
