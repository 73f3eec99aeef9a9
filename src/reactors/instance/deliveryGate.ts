import type { InstanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";
import { isFrozen } from "../../domain/instance/state.ts";
import { unlessAborted } from "../../kernel/concurrency/unlessAborted.ts";
import type { TimeSpan } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Position } from "../../ports/eventStore.ts";

export interface DeliveryGateOptions {
  readonly instanceStatus: InstanceStatusCache;
  readonly clock: Clock;
  /** Whether the read model that says what is due has reached this position. */
  readonly isCaughtUp: (position: Position) => boolean;
  /** Aborts when nothing more may begin. */
  readonly stopping: AbortSignal;
}

/** How long nothing begins after the log said no. */
const CLOSED_MS = 500;

/**
 * Whether anything may leave this instance: not while the log is frozen, and after a restore not until the read model
 * knows what is held. Held rows are never due: at `HOLD_EVENTS` (`domain/instance/events.ts`) each read model holds
 * all that waits: `projections/emails/holdAfterRestore.ts` mail, `senders.ts` verification mail, and
 * `webhookDeliveries/apply.ts` webhooks.
 */
export class DeliveryGate {
  private closedUntil = Number.NEGATIVE_INFINITY;
  private known: readonly TimeSpan[] = [];

  constructor(private readonly options: DeliveryGateOptions) {}

  /** As of the last {@link ask}. */
  get isOpen(): boolean {
    return this.closedUntil <= this.options.clock.monotonicMs();
  }

  /** The times in which nothing left, as of the last {@link ask}; they do not age a message. */
  get downtimes(): readonly TimeSpan[] {
    return this.known;
  }

  /**
   * Asks the log. Call it before every claim, while the work can still be left alone. Throws `StoreError`. False once
   * `stopping` aborts, even if the log does not answer.
   */
  async ask(): Promise<boolean> {
    const { instanceStatus, clock, isCaughtUp, stopping } = this.options;
    const status = await unlessAborted(stopping, instanceStatus.get()).catch((error) => {
      if (stopping.aborted) return null;
      throw error;
    });
    if (status === null || stopping.aborted) return false;
    const { instance, restoredPosition } = status;
    this.known = instance?.downtimes ?? [];
    const isHoldKnown = !instance?.isHeld || restoredPosition === null || isCaughtUp(restoredPosition);
    const mayLeave = !isFrozen(instance) && isHoldKnown;
    if (!mayLeave) this.closedUntil = clock.monotonicMs() + CLOSED_MS;
    return mayLeave;
  }
}
