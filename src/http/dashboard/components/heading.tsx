/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";

interface HeadingProps {
  readonly title: Child;
  /** Shown beside the title: a state, for instance. */
  readonly beside?: Child;
  /** What can be done here: buttons and links. */
  readonly children?: Child;
}

/** The first line of a page. */
export const Heading: FC<HeadingProps> = ({ title, beside, children }) => (
  <div class="heading">
    <h1>{title}</h1>
    {beside}
    {children ? <div class="actions">{children}</div> : null}
  </div>
);
