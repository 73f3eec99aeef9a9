/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

interface SandboxedHtmlFrameProps {
  /** The address of the html. */
  readonly src: string;
  readonly title: string;
  readonly isPhoneWide: boolean;
}

/** A mail's html in a frame of its own, which runs nothing and sends no Referer. */
export const SandboxedHtmlFrame: FC<SandboxedHtmlFrameProps> = ({ src, title, isPhoneWide }) => (
  <iframe
    class={isPhoneWide ? "phone" : ""}
    src={src}
    title={title}
    sandbox="allow-popups allow-popups-to-escape-sandbox"
    referrerpolicy="no-referrer"
  />
);
