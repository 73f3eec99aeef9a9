import { quotaDay, quotaStream } from "../../domain/quota/events.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import type { WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import { newId } from "../../kernel/ids.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { type EventStore, StoreError } from "../../ports/eventStore.ts";
import type { AggregateCache } from "../aggregateCache.ts";
import type { LimitWatch } from "./limitWatch.ts";
import { BLOCK_IDLE_MS, ReservedQuotaBlock } from "./reservedQuotaBlock.ts";

/** The daily limit of every workspace, counted by UTC days. Shared by all instances of a log. */
export interface DailyQuota {
  /** Takes one of the day's messages for `messageId`; null if the workspace has none left. Throws `StoreError`. */
  take(workspaceId: string, messageId: string, at: EpochMs): Promise<QuotaUnit | null>;
  /** Returns a unit that was taken but not used. Never throws `StoreError`. */
  returnUnit(workspaceId: string, unit: QuotaUnit): Promise<void>;
  /** Messages used on the day of `at`; those that other instances hold in reserve count. Throws `StoreError`. */
  used(workspaceId: string, at: EpochMs): Promise<number>;
  /** Returns this instance's reserve to the log, so other instances can use it. Never throws. */
  stop(): Promise<void>;
}

/** One of a day's messages. */
export interface QuotaUnit {
  /** When it was taken, which determines its day. */
  readonly at: EpochMs;
  /** The only message that it may be used for; null for a unit of a block. */
  readonly messageId: string | null;
}

interface DailyQuotaOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly workspaces: AggregateCache<WorkspaceState>;
  readonly limitsDefault: WorkspaceLimits;
  /** Told of each look at a day's reservations. */
  readonly limitWatch: Pick<LimitWatch, "note">;
  /** After this long without use a block goes back to the log. */
  readonly idleMs?: number;
}

const SWEEPS_PER_IDLE_TIME = 6;
/** How many blocks are returned at the same time. */
const RETURNS_MAX = 64;

/** One instance's reserved blocks of the daily limits. A crash loses at most what is in reserve. */
export function dailyQuota(options: DailyQuotaOptions): DailyQuota {
  const { store, clock, workspaces, limitsDefault, idleMs = BLOCK_IDLE_MS, limitWatch } = options;
  const instance = newId();
  const blocks = new Map<string, ReservedQuotaBlock>();
  let sweeps: Timer | null = null;

  const blockOf = (workspaceId: string, at: EpochMs): ReservedQuotaBlock => {
    const stream = quotaStream(workspaceId, quotaDay(at));
    const onReserved = (used: number, of: number) =>
      limitWatch.note({ limit: "daily", ownerId: workspaceId, used, of, isUsedUp: used >= of }, at);
    return new ReservedQuotaBlock({ store, clock, stream, workspaceId, instance, onReserved });
  };
  const keptBlockOf = (workspaceId: string, at: EpochMs): ReservedQuotaBlock => {
    const name = `${workspaceId}/${quotaDay(at)}`;
    const block = blocks.getOrInsertComputed(name, () => blockOf(workspaceId, at));
    sweeps ??= setInterval(() => void returnIdle(), idleMs / SWEEPS_PER_IDLE_TIME).unref();
    return block;
  };
  /** Returns idle blocks and forgets empty ones, so only those of active workspaces stay in memory. */
  const returnIdle = async (): Promise<void> => {
    const since = clock.monotonicMs() - idleMs;
    const idle = [...blocks].filter(([, block]) => block.isIdleSince(since));
    if (!(await releaseAll(idle.map(([, block]) => block)))) return;
    for (const [name, block] of idle) if (block.isIdleSince(since) && block.isEmpty) blocks.delete(name);
    if (blocks.size === 0) stopSweeps();
  };
  const stopSweeps = () => {
    if (sweeps !== null) clearInterval(sweeps);
    sweeps = null;
  };

  return {
    async take(workspaceId, messageId, at) {
      const { state: workspace } = await workspaces.loaded(workspaceId);
      const messagesPerDay = workspace?.limits.messagesPerDay ?? limitsDefault.messagesPerDay;
      const isSingle = await keptBlockOf(workspaceId, at).take(messagesPerDay, messageId);
      return isSingle === null ? null : { at, messageId: isSingle ? messageId : null };
    },
    returnUnit: (workspaceId, { at, messageId }) => keptBlockOf(workspaceId, at).returnUnit(messageId),
    used: (workspaceId, at) =>
      (blocks.get(`${workspaceId}/${quotaDay(at)}`) ?? blockOf(workspaceId, at)).used(),
    async stop() {
      stopSweeps();
      await releaseAll([...blocks.values()]);
    },
  };
}

/** False if the store cannot be written: the rest would fail too, and stays in reserve. */
async function releaseAll(blocks: readonly ReservedQuotaBlock[]): Promise<boolean> {
  try {
    for (let first = 0; first < blocks.length; first += RETURNS_MAX) {
      await Promise.all(blocks.slice(first, first + RETURNS_MAX).map((block) => block.release()));
    }
    return true;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return false;
  }
}
