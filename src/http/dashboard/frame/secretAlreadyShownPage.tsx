/** @jsxImportSource hono/jsx */
import { LinkButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import type { Page, PageContext } from "./dashboardRoute.ts";

interface RepeatedForm {
  /** Pages above this one. */
  readonly above: NonNullable<Page["above"]>;
  /** The page of what the form has created or changed. */
  readonly path: string;
  /** The words of the link there. */
  readonly label: string;
}

/** Answers a form that has shown a secret before, for instance when somebody reloads the page with the secret. */
export function secretAlreadyShownPage(
  { to }: Pick<PageContext, "to">,
  { above, path, label }: RepeatedForm,
): Page {
  const title = "This was done already";
  return {
    title,
    above,
    status: 409,
    body: (
      <>
        <Heading title={title} />
        <p>A secret is shown only once. Nothing was changed now.</p>
        <p>If you have not copied the secret, rotate it: that shows a new one.</p>
        <p class="actions">
          <LinkButton href={to(path)} label={label} kind="primary" />
        </p>
      </>
    ),
  };
}
