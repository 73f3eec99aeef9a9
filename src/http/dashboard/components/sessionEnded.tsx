/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** Where a page asks whether its session is still valid, when somebody returns to it. */
export const SESSION_PATH = "/live/session";

interface SessionEndedProps {
  readonly to: PageContext["to"];
  /** The address of the page: it leads to the log-in, which leads back. */
  readonly href: string;
}

/** Hidden at the top of each page until a script learns that the session has ended. What was typed stays visible. */
export const SessionEnded: FC<SessionEndedProps> = ({ to, href }) => (
  <section
    id="session-ended"
    class="standing bad page-over"
    role="alert"
    hx-get={to(SESSION_PATH)}
    hx-trigger="focus from:window, visibilitychange from:document, check"
    hx-swap="none"
    hidden
  >
    <div>
      <h2>Your session has ended</h2>
      <p>This page no longer follows what happens, and nothing can be changed from it.</p>
    </div>
    <a class="button primary" href={href}>
      Log in again
    </a>
  </section>
);
