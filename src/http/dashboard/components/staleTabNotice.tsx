/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { shownMail } from "../frame/staleTab.ts";

interface StaleTabNoticeProps {
  readonly context: PageContext;
  /** The address of the page. */
  readonly href: string;
}

/**
 * Hidden at the top of each page until a script learns that the browser has logged in to another workspace since, or
 * shows the other kind of mail. What was typed stays visible.
 */
export const StaleTabNotice: FC<StaleTabNoticeProps> = ({ context, href }) => (
  <section id="other-workspace" class="standing bad page-over" role="alert" hidden>
    <div>
      <h2>This tab is out of date</h2>
      <p>
        It shows <strong>{shownMail(context)}</strong>, but another tab of this browser has switched to{" "}
        <strong data-shown-now />. Nothing can be changed from here.
      </p>
    </div>
    <a class="button primary" href={href}>
      Reload
    </a>
  </section>
);
