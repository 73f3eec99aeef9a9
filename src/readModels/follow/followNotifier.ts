import type { FollowEvent, OnFollowEvent } from "./followMessages.ts";

/** Tells a listener what the follower does. One that throws is our caller's fault, which must not go unheard. */
export class FollowNotifier {
  readonly #onEvent: OnFollowEvent;
  readonly #failure = new AbortController();

  constructor(onEvent: OnFollowEvent) {
    this.#onEvent = onEvent;
  }

  /** Aborts when the listener has thrown or rejected; the reason is the error to end with. */
  get failure(): AbortSignal {
    return this.#failure.signal;
  }

  /** Tells of the event; `dealtWith` is called once the listener's promise has been fulfilled. */
  tell(event: FollowEvent, dealtWith: () => void = () => {}): void {
    Promise.try(this.#onEvent, event).then(dealtWith, (cause: unknown) =>
      this.#failure.abort(new Error("the listener to the follower's events failed", { cause })),
    );
  }
}
