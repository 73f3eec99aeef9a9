import type { EpochMs } from "../kernel/time.ts";

/** The daily limit of every workspace, counted by UTC days. Shared by all instances of a log. */
export interface DailyQuota {
  /** Takes one of the day's messages; false when the workspace has none left. Throws `StoreError`. */
  take(workspaceId: string, at: EpochMs): Promise<boolean>;
  /** Gives back what was taken at `at` and not used. */
  giveBack(workspaceId: string, at: EpochMs): void;
}

export function dailyQuota(): DailyQuota {
  return { take: async () => true, giveBack: () => {} };
}
