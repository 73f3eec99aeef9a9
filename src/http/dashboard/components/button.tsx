/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { HiddenFields, PostForm } from "./form.tsx";

type Kind = "primary" | "danger" | "plain";

interface LinkButtonProps {
  /** The whole address, from `context.to`. */
  readonly href: string;
  readonly label: Child;
  readonly kind?: Kind;
  /** Whether it leads to a confirmation, which scripts show as a dialog: see `confirmationPage`. */
  readonly asks?: boolean;
}

export const LinkButton: FC<LinkButtonProps> = ({ href, label, kind, asks }) => (
  <a class={kind === undefined ? "button" : `button ${kind}`} href={href} data-dialog={asks}>
    {label}
  </a>
);

interface ActionButtonProps {
  readonly context: Pick<PageContext, "to" | "formToken">;
  /** The path it is sent to, below the dashboard's. */
  readonly action: string;
  readonly verb: string;
  /** What the verb is about, for screen readers, if the page does not show it around the button. */
  readonly about?: string | undefined;
  /** Sent along, by name. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  readonly kind?: Kind | undefined;
}

/** A button that acts at once. */
export const ActionButton: FC<ActionButtonProps> = ({ context, action, verb, about, fields = {}, kind }) => (
  <PostForm context={context} action={action}>
    <HiddenFields values={fields} />
    <button type="submit" class={kind} aria-label={about && `${verb} ${about}`}>
      {verb}
    </button>
  </PostForm>
);
