/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { Scope } from "../../../domain/apiKey/scopes.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { shownMail } from "../frame/staleTab.ts";
import { PostForm } from "./form.tsx";

/** A confirmation before an action; its form is sent to the page's own path. */
export interface Confirmation {
  readonly title: string;
  /** The question; by default the title with a question mark. */
  readonly question?: string;
  /** Pages above this one; Back leads to the last of them. */
  readonly above: NonNullable<Page["above"]>;
  /** The word on the button: the verb of the question. Null if there is nothing to do: then there is no button. */
  readonly verb: string | null;
  readonly isDangerous?: boolean;
  /** What happens, and what cannot be undone. */
  readonly text: Child;
}

/** Asks before an action: the page that asks and the form that confirms have one path. */
export function asksFirst(
  path: string,
  scope: Scope,
  ask: (context: PageContext) => Confirmation | Promise<Confirmation>,
  act: DashboardRoute["answer"],
): readonly DashboardRoute[] {
  return [
    get(path, scope, async (context) => confirmationPage(context, await ask(context))),
    post(path, scope, act),
  ];
}

/**
 * Asks once before an action that cannot be undone; pressing Enter again does nothing yet. With scripts it is a
 * dialog: link to it with `<a href=… data-dialog>`.
 */
export function confirmationPage(
  context: Pick<PageContext, "to" | "path" | "formToken" | "workspaceName" | "mail">,
  confirmation: Confirmation,
): Page {
  const { title, question = `${title}?`, above, verb, isDangerous, text } = confirmation;
  return {
    title,
    above,
    body: (
      <section class="confirmation">
        <h1>{question}</h1>
        <p class="soft">
          In workspace <strong>{shownMail(context)}</strong>
        </p>
        <PostForm context={context} action={context.path}>
          {text}
          <p class="actions">
            {verb === null ? null : (
              <button type="submit" class={isDangerous ? "danger" : "primary"}>
                {verb}
              </button>
            )}
            <a class="button" href={context.to(above.at(-1)?.path ?? "/")} data-close autofocus={isDangerous}>
              Back
            </a>
          </p>
        </PostForm>
      </section>
    ),
  };
}
