/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { PageContext } from "../frame/dashboardRoute.ts";

interface SendFormStateProps {
  readonly context: Pick<PageContext, "mail">;
  readonly nonce: string;
}

/** The hidden fields of a form that sends a message: its nonce, and whether it sends live or test mail. */
export const SendFormState: FC<SendFormStateProps> = ({ context, nonce }) => (
  <>
    <input type="hidden" name="nonce" value={nonce} />
    <input type="hidden" name="mail" value={context.mail} />
  </>
);
