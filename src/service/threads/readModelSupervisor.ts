import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { deliver, type FollowEvent } from "../../readModels/follow/followerThreadMessages.ts";
import type { FromThread, ThreadStart, ToThread } from "./readModelThread.ts";

/** How long to wait before restarting a failed thread; doubles each time until one has lasted. */
const RESTART_MS_MIN = 1_000;
const RESTART_MS_MAX = 30_000;
/** How long a thread may take to close its files. */
const STOP_MS_MAX = 5_000;

interface ReadModelSupervisorOptions {
  readonly start: ThreadStart;
  /** Events of the thread, and `interrupted` each time it fails. */
  readonly onEvent: (event: FollowEvent) => void;
  readonly onSealTrouble: (reason: string) => void;
  /** The thread found the log damaged. */
  readonly onDamagedLog: (reason: string) => void;
  readonly openThread?: () => Worker;
}

/** Keeps the read models' thread running: restarts it whenever it fails, until stopped. */
export function superviseReadModels({
  start,
  onEvent,
  onSealTrouble,
  onDamagedLog,
  openThread = () => new Worker(new URL("./readModelThread.ts", import.meta.url).href),
}: ReadModelSupervisorOptions): {
  stop(): Promise<void>;
  /** Tells the thread of a file that a reader found damaged. */
  tellDamage(file: string): void;
} {
  let stopping = false;
  let restartMs = RESTART_MS_MIN;
  let restart: Timer | undefined;
  let worker = begin();
  let ended = () => {};

  function begin(): Worker {
    const begun = openThread();
    const begunAt = performance.now();
    const send = (message: ToThread) => begun.postMessage(message);
    const fail = (reason: string) => {
      if (worker !== begun) return;
      begun.terminate();
      if (stopping) return ended();
      onEvent({ type: "interrupted", reason });
      if (performance.now() - begunAt > RESTART_MS_MAX) restartMs = RESTART_MS_MIN;
      clearTimeout(restart);
      restart = setTimeout(() => {
        worker = begin();
      }, restartMs);
      restartMs = Math.min(RESTART_MS_MAX, 2 * restartMs);
    };
    begun.onmessage = ({ data }: MessageEvent<FromThread>) => {
      if ("ended" in data) fail(data.ended ?? "it ended by itself");
      else if ("sealTrouble" in data) onSealTrouble(data.sealTrouble);
      else if ("damagedLog" in data) onDamagedLog(data.damagedLog);
      else deliver(data, onEvent, send).catch((error: unknown) => fail(String(error)));
    };
    begun.onerror = (event) => fail(event.message);
    send({ start });
    return begun;
  }

  return {
    tellDamage: (file) => worker.postMessage({ damagedFile: file } satisfies ToThread),
    async stop() {
      stopping = true;
      clearTimeout(restart);
      const { promise, resolve } = Promise.withResolvers<void>();
      ended = resolve;
      worker.postMessage({ stop: true } satisfies ToThread);
      await settleWithin(STOP_MS_MAX, promise, () => worker.terminate());
    },
  };
}
