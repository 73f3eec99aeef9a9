/** @jsxImportSource hono/jsx */
import { LinkButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable } from "../components/list.tsx";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import { secretAlreadyShownPage } from "../frame/secretAlreadyShownPage.tsx";
import { WEBHOOKS } from "./endpointOfPath.ts";

interface Shown {
  readonly endpointId: string;
  readonly url: string;
  readonly secret: string;
  /** What happened, as a title. */
  readonly title: string;
  /** What to do with the secret now. */
  readonly advice: string;
}

/** Shows a signing secret once, as the answer to the form that created it. */
export function secretPage({ to }: PageContext, { endpointId, url, secret, title, advice }: Shown): Page {
  return {
    title,
    above: [WEBHOOKS],
    body: (
      <>
        <Heading title={title} />
        <section class="section">
          <p>
            This is the signing secret of <code>{url}</code>. Copy it now: it is not shown again.
          </p>
          <p class="secret">
            <Copyable text={secret} label="the signing secret" />
          </p>
          <p>{advice}</p>
          <p class="actions">
            <LinkButton href={to(`/webhooks/${endpointId}`)} label="I have copied it" kind="primary" />
          </p>
        </section>
      </>
    ),
  };
}

/** Answers a form whose secret was shown before. */
export function repeatedEndpointPage(context: PageContext, endpointId: string): Page {
  const path = `/webhooks/${endpointId}`;
  return secretAlreadyShownPage(context, { above: [WEBHOOKS], path, label: "To the endpoint" });
}
