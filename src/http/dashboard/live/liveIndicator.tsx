/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

/** The id of what hears of changes: parts of a page that show them have `hx-trigger={ON_CHANGE}`. */
const LIVE_ID = "live";

/** When a part of a page is to be asked for anew: a change, and now and then in case one was missed. */
export const ON_CHANGE = `changed from:#${LIVE_ID}, every 20s`;

/** Says whether the page follows what happens. `stream` is the address of its stream. Without scripts it is not there. */
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
