import type { LogVerification } from "../../../commands/audit/verify/verifyLog.ts";
import type { EpochMs } from "../../../kernel/time.ts";

/** What can be done to a whole installation while it runs. Nothing of it changes the log. */
export const MAINTENANCE_KINDS = ["verifyLog", "verifyReadModels", "rebuildReadModels"] as const;
export type MaintenanceKind = (typeof MAINTENANCE_KINDS)[number];

export interface MaintenanceTask {
  readonly kind: MaintenanceKind;
  /** Names of read models; none where the task is about the log. */
  readonly readModels: readonly string[];
}

/** How a read model compares with the log. */
export interface VerifiedReadModel {
  readonly name: string;
  /** Rows looked at. */
  readonly rows: number;
  readonly differences: number;
  /** Why it could not be compared; null when it was. */
  readonly failure: string | null;
}

/** What became of the rebuild of a read model. */
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

/** How far a task has come in its reading of the log. */
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
  /** What was found or done, or why it could not be: a sentence's end. */
  readonly outcome: MaintenanceResult | { readonly failed: string };
}

/** Long work on the whole installation: one task at a time, behind everything else. */
export interface Maintenance {
  running(): RunningTask | null;
  /** The last task of a kind that has ended since the service was started; null when there was none. */
  last(kind: MaintenanceKind): EndedTask | null;
  /** Begins a task; false while there is another. */
  start(task: MaintenanceTask): boolean;
  /** Gives up the task that is under way, if there is one, and waits for its end. */
  cancel(): Promise<void>;
  /** Changes with all that can be seen of it. */
  version(): string;
}

/** A read model, as far as the service knows it. */
export interface ReadModelState {
  readonly name: string;
  /** `absent`: not opened yet. `behind`: catching up. `failed`: stopped, its rows stay. */
  readonly state: "absent" | "behind" | "live" | "failed";
  readonly isCaughtUp: boolean;
  /** Since when it lacks something of the log; null when it does not, or that is not known. */
  readonly behindSince: EpochMs | null;
  readonly failure: string | null;
  /** The last comparison with the log, by whomever; null when its rows were never compared. */
  readonly verified: (VerifiedReadModel & { readonly finishedAt: string }) | null;
}
