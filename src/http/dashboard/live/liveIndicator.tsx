/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

/** The id of the element that receives changes. */
const LIVE_ID = "live";

/** When something has changed. */
export const CHANGED = `changed from:#${LIVE_ID}`;
/** When to reload a part of a page: on a change, and now and then in case one was missed. */
export const ON_CHANGE = `${CHANGED}, every 20s`;

/** The attributes of a part of a page that reloads itself from `at`. */
export function reloadedFrom(at: string, when = ON_CHANGE) {
  return { "hx-get": at, "hx-trigger": when, "hx-target": "this", "hx-swap": "outerMorph" };
}

/** Shows whether the page is live. `stream` is the address of its stream. Hidden without scripts. */
export const LiveMark: FC<{ readonly stream: string }> = ({ stream }) => (
  <span
    id={LIVE_ID}
    class="live"
    {...{ "hx-sse:connect": stream }}
    hx-swap="none"
    hx-morph-skip
    role="status"
    hidden
  >
    paused
  </span>
);
