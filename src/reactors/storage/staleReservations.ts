import { overdueHolders, type StorageHolder } from "../../../projections/storageReservations.ts";
import type { Services } from "../../commands/dependencies.ts";
import { holderExists } from "../../commands/storage/reservationOwner.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { type ReadDatabase, ReadDatabaseError } from "../../ports/readDatabase.ts";

export interface StorageReaperOptions {
  readonly services: Pick<Services, "store" | "clock" | "storage">;
  /** The read model `storage`. */
  readonly holders: ReadDatabase;
  /** Names this instance in the events it writes. */
  readonly worker: string;
  readonly onTrouble: (error: unknown) => void;
  /** How long it rests between two looks. */
  readonly restMs?: number;
}

const REST_MS = 30 * SECOND_MS;
/** Holders that are looked for in one go. */
const HOLDERS_MAX = 500;

/**
 * Looks for the holders of storage whose time is over: who has come to be is confirmed, who never did lets go.
 * Instances may look at the same time: the second one's answer changes nothing.
 */
export class StorageReaper {
  private timer: Timer | null = null;
  private working: Promise<void> = Promise.resolve();

  constructor(private readonly options: StorageReaperOptions) {}

  start(): void {
    const { restMs = REST_MS } = this.options;
    let isWorking = false;
    this.timer = setInterval(() => {
      if (isWorking) return;
      isWorking = true;
      this.working = this.look().finally(() => {
        isWorking = false;
      });
    }, restMs);
  }

  /** Waits for the look under way. */
  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    await this.working;
  }

  private async look(): Promise<void> {
    const { holders, services, onTrouble } = this.options;
    try {
      const overdue = overdueHolders(holders, services.clock.now(), HOLDERS_MAX);
      const byWorkspace = Map.groupBy(overdue, ({ workspaceId }) => workspaceId);
      for (const [workspaceId, found] of byWorkspace) await this.trySettle(workspaceId, found);
    } catch (error) {
      if (!(error instanceof ReadDatabaseError && error.failure === "unavailable")) onTrouble(error);
    }
  }

  /** What cannot be read of one workspace must not keep the others waiting; a store that is away ends the round. */
  private async trySettle(workspaceId: string, overdue: readonly StorageHolder[]): Promise<void> {
    try {
      await this.settle(workspaceId, overdue);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      this.options.onTrouble(error);
    }
  }

  private async settle(workspaceId: string, overdue: readonly StorageHolder[]): Promise<void> {
    const { store, clock, storage } = this.options.services;
    const { worker } = this.options;
    const context: CommandContext = {
      at: clock.now(),
      correlationId: worker,
      actor: `worker:${worker}`,
      workspaceId,
    };
    const present: string[] = [];
    for (const { holder } of overdue) {
      if (await holderExists(store, holder)) present.push(holder);
      else await storage.release(workspaceId, holder, context);
    }
    if (present.length > 0) await storage.confirm(workspaceId, present, context);
  }
}
