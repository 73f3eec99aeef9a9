/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";

interface HeadingProps {
  readonly title: Child;
  /** Shown beside the title: a state, for instance. */
  readonly beside?: Child;
  /** What can be done here: buttons and links. */
  readonly children?: Child;
}

/** Longer titles may be cut, so they are shown whole when pointed at. */
const TITLE_CHARACTERS_CUT = 100;

/** The first line of a page. */
export const Heading: FC<HeadingProps> = ({ title, beside, children }) => (
  <div class="heading">
    <h1 title={typeof title === "string" && title.length > TITLE_CHARACTERS_CUT ? title : undefined}>
      {title}
    </h1>
    {beside}
    {children ? <div class="actions">{children}</div> : null}
  </div>
);
