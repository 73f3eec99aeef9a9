import type { LogVerification } from "../../../commands/audit/verify/verifyLog.ts";
import type { EpochMs } from "../../../kernel/time.ts";

/** Tasks on the whole installation while it runs. None of them changes the log. */
export type MaintenanceKind = "verifyLog" | "verifyReadModels" | "rebuildReadModels";

export interface MaintenanceTask {
  readonly kind: MaintenanceKind;
  /** Names of read models; none for a task on the log. */
  readonly readModels: readonly string[];
}

/** How a read model compares with the log. */
export interface VerifiedReadModel {
  readonly name: string;
  /** Rows compared. */
  readonly rows: number;
  readonly differences: number;
  /** Why it could not be compared; null when it was. */
  readonly failure: string | null;
}

export interface RebuiltReadModel {
  readonly name: string;
  readonly outcome: "current" | "ready" | "failed";
  /** Why it failed; null when it did not. */
  readonly reason: string | null;
}

export type MaintenanceResult =
  | { readonly kind: "verifyLog"; readonly log: LogVerification }
  | { readonly kind: "verifyReadModels"; readonly readModels: readonly VerifiedReadModel[] }
  | { readonly kind: "rebuildReadModels"; readonly readModels: readonly RebuiltReadModel[] };

export interface MaintenanceProgress {
  /** In [0, 1]. */
  readonly done: number;
  readonly events: number;
  readonly eventsPerSecond: number;
}

export interface RunningTask extends MaintenanceTask, MaintenanceProgress {
  readonly startedAt: EpochMs;
}

export interface EndedTask extends MaintenanceTask {
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
  /** What was found or done, or why it failed, as the end of a sentence. */
  readonly outcome: MaintenanceResult | { readonly failed: string };
}

/** Long tasks on the whole installation: one at a time, with lower priority than everything else. */
export interface Maintenance {
  running(): RunningTask | null;
  /** The last task of a kind that ended since the service started; null if none. */
  last(kind: MaintenanceKind): EndedTask | null;
  /** Starts a task; false while another one runs. */
  start(task: MaintenanceTask): boolean;
  /** Cancels the running task, if any, and waits for its end. */
  cancel(): Promise<void>;
  /** Changes with every visible change. */
  version(): string;
}

export interface ReadModelState {
  readonly name: string;
  /** `absent`: not opened yet. `behind`: catching up. `failed`: stopped, its rows stay. */
  readonly state: "absent" | "behind" | "live" | "failed";
  readonly isCaughtUp: boolean;
  /** Since when it lacks events of the log; null if it lacks none, or that is unknown. */
  readonly behindSince: EpochMs | null;
  readonly failure: string | null;
  /** The last comparison with the log, whoever started it; null if its rows were never compared. */
  readonly verified: (VerifiedReadModel & { readonly finishedAt: string }) | null;
}
