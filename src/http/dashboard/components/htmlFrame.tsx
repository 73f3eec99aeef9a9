/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

interface HtmlFrameProps {
  /** The address of the html. */
  readonly src: string;
  readonly title: string;
  readonly isPhoneWide: boolean;
}

/** A mail's html in a frame of its own, which runs nothing and sends no Referer. */
export const HtmlFrame: FC<HtmlFrameProps> = ({ src, title, isPhoneWide }) => (
  <iframe
    class={isPhoneWide ? "phone" : ""}
    src={src}
    title={title}
    sandbox="allow-popups allow-popups-to-escape-sandbox"
    referrerpolicy="no-referrer"
  />
);
