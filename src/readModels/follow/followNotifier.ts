import type { FollowEvent, OnFollowEvent } from "./followerThreadMessages.ts";

/** Tells a listener what the follower does. A listener that throws is a bug of our caller, which must surface. */
export class FollowNotifier {
  private readonly failing = new AbortController();

  constructor(private readonly onEvent: OnFollowEvent) {}

  /** Aborts when the listener throws or rejects; its reason is the error to end with. */
  get failure(): AbortSignal {
    return this.failing.signal;
  }

  /** Sends the event; calls `dealtWith` once the listener's promise is fulfilled. */
  tell(event: FollowEvent, dealtWith: () => void = () => {}): void {
    Promise.try(this.onEvent, event).then(dealtWith, (cause: unknown) =>
      this.failing.abort(new Error("the listener to the follower's events failed", { cause })),
    );
  }
}
