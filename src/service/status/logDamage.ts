import type { Logger } from "pino";
import { DamagedLogError, type EventStore } from "../../ports/eventStore.ts";

/** What to do about a log that its store calls damaged. */
export const DAMAGED_LOG_REMEDY =
  "stop the service, keep the log's files as they are, and go back to a backup (docs/backups.md)";

/** What a running service knows about damage to its log. */
export interface LogDamage {
  /** What was found damaged first; null while nothing was. It stays: only a restart on sound files ends it. */
  readonly reason: string | null;
  /** A call found the log damaged. */
  tell(reason: string): void;
}

/** Logs one line when the log is first found damaged. */
export function logDamage(logger: Pick<Logger, "error">): LogDamage {
  let found: string | null = null;
  return {
    get reason() {
      return found;
    },
    tell(reason) {
      if (found !== null) return;
      found = reason;
      logger.error({ reason }, `the log is damaged, so the service is not ready: ${DAMAGED_LOG_REMEDY}`);
    },
  };
}

/** Wraps the store to refuse appends once the log is known to be damaged: what is accepted then may be lost with it. */
export function refusingOnceDamaged(store: EventStore, damage: Pick<LogDamage, "reason">): EventStore {
  const append: EventStore["append"] = async (...call) => {
    if (damage.reason !== null) throw new DamagedLogError(damage.reason);
    return store.append(...call);
  };
  // Its own `flush` appends nothing, so that readers of what is sound go on.
  const flush: EventStore["flush"] = (options) => store.flush(options);
  return Object.assign(Object.create(store) as EventStore, { append, flush });
}
