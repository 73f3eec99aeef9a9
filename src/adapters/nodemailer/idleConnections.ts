import { quitRelayConnection, type RelayConnection, setSilenceMax } from "./relayConnection.ts";
import type { Semaphore } from "./semaphore.ts";

/** How long to wait for the answer to QUIT when the transport closes: nothing depends on it any more. */
const LAST_QUIT_MS_MAX = 500;

/** The open connections that nobody uses. */
export interface IdleConnections {
  /** Takes the one used last, so that the others expire. */
  take(): RelayConnection | undefined;
  put(connection: RelayConnection): void;
  /** Sends QUIT on all of them and waits until they have ended. */
  close(): Promise<void>;
}

/**
 * Keeps connections for `idleMs` (its default is in `relayLimitsAndTimeouts.ts`), then sends QUIT. A closing connection
 * still counts at the relay, so it holds one of the `permits` until it has ended.
 */
export function createIdleConnections(idleMs: number, permits: Semaphore): IdleConnections {
  const timers = new Map<RelayConnection, ReturnType<typeof setTimeout>>();

  function remove(connection: RelayConnection): void {
    clearTimeout(timers.get(connection));
    timers.delete(connection);
    connection.onEnd = undefined;
  }

  async function expire(connection: RelayConnection): Promise<void> {
    if (!permits.tryTake()) {
      // All permits are taken although this connection is free, so somebody is about to need it.
      timers.set(connection, setTimeout(expire, idleMs, connection));
      return;
    }
    remove(connection);
    await quitRelayConnection(connection);
    permits.give();
  }

  return {
    take() {
      const connection = [...timers.keys()].at(-1);
      if (connection) remove(connection);
      return connection;
    },
    put(connection) {
      // nodemailer's time-out for silence would drop the connection; ours sends QUIT.
      setSilenceMax(connection, 0);
      connection.onEnd = () => remove(connection);
      timers.set(connection, setTimeout(expire, idleMs, connection));
    },
    async close() {
      const leaving = [...timers.keys()];
      for (const connection of leaving) remove(connection);
      await Promise.all(leaving.map((connection) => quitRelayConnection(connection, LAST_QUIT_MS_MAX)));
    },
  };
}
