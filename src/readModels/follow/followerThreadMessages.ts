import type { Position } from "../../ports/eventStore.ts";

/**
 * What the follower sends to the readers of its rows. Plain data, so it can be posted between threads.
 * A projection is `live` from `joined` on; from then on `progress` applies to it.
 */
export type FollowEvent =
  /** The catalog was damaged and has been replaced: every read model is rebuilt from the log. */
  | { readonly type: "renewed"; readonly reason: string }
  /** Nobody follows the log for now, so rows stay as they are. A new follower opens each read model again. */
  | { readonly type: "interrupted"; readonly reason: string }
  /** The log lacks events that read models hold: its newest are gone. The read models are rebuilt from the rest. */
  | { readonly type: "logCutShort" }
  /** `file` is the current generation of `name` and can be opened; its rows hold the log up to `position`. */
  | { readonly type: "opened"; readonly name: string; readonly file: string; readonly position: Position }
  /**
   * Every live projection holds the log up to `position`; `caughtUp`: that was its head. `hasWatchedEvent`: whether an event of
   * a watched type is among those since the last `progress`.
   */
  | {
      readonly type: "progress";
      readonly position: Position;
      readonly caughtUp: boolean;
      readonly hasWatchedEvent: boolean;
    }
  /** A projection that is not live yet has reached `position`. */
  | { readonly type: "behind"; readonly name: string; readonly position: Position }
  | { readonly type: "joined"; readonly name: string; readonly position: Position }
  /**
   * `file` is now the current generation of `name`, at least as far as the one before. The follower removes the old
   * file only after the listener's promise for this event is fulfilled.
   */
  | { readonly type: "switched"; readonly name: string; readonly file: string; readonly position: Position }
  /** The projection has stopped; its rows stay as they are. `retrying`: the follower will try again. */
  | { readonly type: "failed"; readonly name: string; readonly reason: string; readonly retrying: boolean }
  /** A generation that should have become current was given up; the current one continues. */
  | { readonly type: "discarded"; readonly name: string; readonly file: string; readonly reason: string };

/** For `switched`, a listener settles once it has closed the old file. */
export type OnFollowEvent = (event: FollowEvent) => void | Promise<void>;

/** From the follower's thread to the reader's: an event, and the number to answer to if it wants an answer. */
export interface FollowMessage {
  readonly event: FollowEvent;
  readonly answerTo?: number;
}

/** From the reader's thread: the event with this number has been handled. */
export interface FollowAnswer {
  readonly answerTo: number;
}

/** The follower's end of a message channel: sends its events. Only `switched` waits for an answer. */
export function followRelay(post: (message: FollowMessage) => void) {
  const waiting = new Map<number, () => void>();
  let lastNumber = 0;
  return {
    onEvent(event: FollowEvent): void | Promise<void> {
      if (event.type !== "switched") return post({ event });
      lastNumber += 1;
      const answerTo = lastNumber;
      return new Promise((resolve) => {
        waiting.set(answerTo, resolve);
        post({ event, answerTo });
      });
    },
    /** Call it with each answer from the other thread. */
    receive({ answerTo }: FollowAnswer) {
      waiting.get(answerTo)?.();
      waiting.delete(answerTo);
    },
  };
}

/** The reader's end: passes on a message's event, then answers it if asked to. */
export async function deliver(
  message: FollowMessage,
  onEvent: OnFollowEvent,
  post: (answer: FollowAnswer) => void,
): Promise<void> {
  await onEvent(message.event);
  if (message.answerTo !== undefined) post({ answerTo: message.answerTo });
}
