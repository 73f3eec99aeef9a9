import type { FollowEvent } from "../../readModels/follow/followMessages.ts";
import { deliver } from "../../readModels/follow/followMessages.ts";
import type { FromThread, ThreadStart, ToThread } from "./readModelThread.ts";

/** How long a thread that failed rests before it is begun again. */
const RESTART_MS = 1_000;
/** How long a thread is given to close its files. */
const STOP_MS_MAX = 5_000;

export interface ReadModelSupervisorOptions {
  readonly start: ThreadStart;
  readonly onEvent: (event: FollowEvent) => void;
  readonly onFailure: (reason: string) => void;
  readonly onSealTrouble: (reason: string) => void;
}

/** Keeps the thread of the read models going: begins it again whenever it fails, until it is stopped. */
export function superviseReadModels({
  start,
  onEvent,
  onFailure,
  onSealTrouble,
}: ReadModelSupervisorOptions): {
  stop(): Promise<void>;
  /** Tells the thread of a file that a reader has found damaged. */
  tellDamage(file: string): void;
} {
  let stopping = false;
  let worker = begin();
  let restart: Timer | undefined;
  let ended = () => {};

  function begin(): Worker {
    const begun = new Worker(new URL("./readModelThread.ts", import.meta.url).href);
    const send = (message: ToThread) => begun.postMessage(message);
    const fail = (reason: string) => {
      if (worker !== begun) return;
      begun.terminate();
      if (stopping) return ended();
      onFailure(reason);
      clearTimeout(restart);
      restart = setTimeout(() => {
        worker = begin();
      }, RESTART_MS);
    };
    begun.onmessage = ({ data }: MessageEvent<FromThread>) => {
      if ("ended" in data) fail(data.ended ?? "it ended by itself");
      else if ("sealTrouble" in data) onSealTrouble(data.sealTrouble);
      else deliver(data, onEvent, send).catch((error: unknown) => fail(String(error)));
    };
    begun.onerror = (event) => fail(event.message);
    send({ start });
    return begun;
  }

  return {
    tellDamage: (file) => worker.postMessage({ damagedFile: file } satisfies ToThread),
    stop() {
      stopping = true;
      clearTimeout(restart);
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          worker.terminate();
          resolve();
        }, STOP_MS_MAX);
        ended = () => {
          clearTimeout(timer);
          resolve();
        };
        worker.postMessage({ stop: true } satisfies ToThread);
      });
    },
  };
}
