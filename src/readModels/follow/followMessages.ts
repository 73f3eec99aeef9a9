import type { Position } from "../../ports/eventStore.ts";

/**
 * What the follower sends to whoever reads its rows. Plain data: it passes between threads as it is.
 * A projection is `live` from `joined` on: from then `progress` counts for it.
 */
export type FollowEvent =
  /** The catalog was damaged and is begun anew: every read model is built again from the log. */
  | { readonly type: "renewed"; readonly reason: string }
  /** Nothing follows the log for now, and rows stay as they are. Each read model is opened again when something does. */
  | { readonly type: "interrupted"; readonly reason: string }
  /** The log ends before what read models hold of it: its newest events are gone. They are built again from the rest. */
  | { readonly type: "logCutShort" }
  /** `file` is the current generation of `name` and can be opened; its rows hold the log up to `position`. */
  | { readonly type: "opened"; readonly name: string; readonly file: string; readonly position: Position }
  /** Every live projection holds the log up to `position`; `caughtUp`: that was its head. */
  | { readonly type: "progress"; readonly position: Position; readonly caughtUp: boolean }
  /** A projection that is not yet live has come as far as `position`. */
  | { readonly type: "behind"; readonly name: string; readonly position: Position }
  | { readonly type: "joined"; readonly name: string; readonly position: Position }
  /**
   * `file` is now the current generation of `name`, no further back than the one before. The follower removes
   * the old file only after the promise that its listener returned for this event has settled.
   */
  | { readonly type: "switched"; readonly name: string; readonly file: string; readonly position: Position }
  /** The projection has stopped; its rows stay as they are. `retrying`: the cause may go away by itself. */
  | { readonly type: "failed"; readonly name: string; readonly reason: string; readonly retrying: boolean }
  /** A generation that was to become current is given up; the current one goes on. */
  | { readonly type: "discarded"; readonly name: string; readonly file: string; readonly reason: string };

/** A listener settles `switched` once it has closed the old file. */
export type OnFollowEvent = (event: FollowEvent) => void | Promise<void>;

/** From the follower's thread to the reader's: an event, and the number under which it wants an answer. */
export interface FollowMessage {
  readonly event: FollowEvent;
  readonly answerTo?: number;
}

/** From the reader's thread: the event of that number has been dealt with. */
export interface FollowAnswer {
  readonly answerTo: number;
}

/** The follower's end of a message channel. */
export interface FollowRelay {
  readonly onEvent: OnFollowEvent;
  /** To be called with each answer from the other thread. */
  receive(answer: FollowAnswer): void;
}

/** Carries the follower's events over a message channel; only `switched` waits for its answer. */
export function followRelay(post: (message: FollowMessage) => void): FollowRelay {
  const waiting = new Map<number, () => void>();
  let lastNumber = 0;
  return {
    onEvent(event) {
      if (event.type !== "switched") return post({ event });
      lastNumber += 1;
      const answerTo = lastNumber;
      return new Promise((resolve) => {
        waiting.set(answerTo, resolve);
        post({ event, answerTo });
      });
    },
    receive({ answerTo }) {
      waiting.get(answerTo)?.();
      waiting.delete(answerTo);
    },
  };
}

/** The reader's end: hands over a message's event, then answers it where that was asked for. */
export async function deliver(
  message: FollowMessage,
  onEvent: OnFollowEvent,
  post: (answer: FollowAnswer) => void,
): Promise<void> {
  await onEvent(message.event);
  if (message.answerTo !== undefined) post({ answerTo: message.answerTo });
}
