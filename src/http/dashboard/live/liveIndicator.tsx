/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

/** The id of the element that receives changes. Page parts that follow them have `hx-trigger={ON_CHANGE}`. */
const LIVE_ID = "live";

/** When to reload a part of a page: on a change, and now and then in case one was missed. */
export const ON_CHANGE = `changed from:#${LIVE_ID}, every 20s`;

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
