/** @jsxImportSource hono/jsx */
import { MISSED_KEPT_MS } from "../../../../projections/webhookDeliveries/missedEvents.ts";
import type { WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import {
  deleteWebhookEndpoint,
  disableWebhookEndpoint,
  enableWebhookEndpoint,
  rotateWebhookSecret,
} from "../../../commands/webhook/changeWebhookEndpoint.ts";
import { wholeNumber } from "../../../kernel/text/wholeNumber.ts";
import { DAY_MS, HOUR_MS, rfc3339 } from "../../../kernel/time.ts";
import { found, invalid, Problem } from "../../server/problem.ts";
import { testOrRefuse } from "../../webhook/webhookEndpointHandlers.ts";
import { recoverSince } from "../../webhookDelivery/webhookDeliveryHandlers.ts";
import { asksFirst, type Confirmation } from "../components/confirmationPage.tsx";
import { Select } from "../components/form.tsx";
import { lengthOfTime } from "../components/time.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { activeEndpointOf, endpointOf, WEBHOOKS } from "./endpointOfPath.ts";
import { repeatedEndpointPage, secretPage } from "./secretPage.tsx";

/** How long both secrets sign after a rotation, in ms. */
const OVERLAPS_MS = [DAY_MS, HOUR_MS, 7 * DAY_MS, 0] as const;
/** How far back a recovery may reach, in ms. */
const RECOVERIES_MS = [MISSED_KEPT_MS, 3 * DAY_MS, DAY_MS, HOUR_MS] as const;

/** Actions on one endpoint. A confirmation page has the same path as its action. */
export function endpointActionRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    test(options),
    enable(options),
    ...actionRoutes(options, "disable", disableQuestion, disable),
    ...actionRoutes(options, "rotate", rotateQuestion, rotate),
    ...actionRoutes(options, "recover", recoverQuestion, recover),
    ...actionRoutes(options, "delete", deleteQuestion, remove),
  ];
}

type Act = (options: DashboardOptions, context: PageContext) => Promise<Page | Response>;

function actionRoutes(
  options: DashboardOptions,
  verb: string,
  question: (endpoint: WebhookEndpointRow) => Question,
  act: Act,
): readonly DashboardRoute[] {
  const ask = async (context: PageContext): Promise<Confirmation> => {
    const endpoint = await endpointOf(options, context);
    const above = [WEBHOOKS, { path: `/webhooks/${endpoint.id}`, title: "Endpoint" }];
    return { ...question(endpoint), above };
  };
  return asksFirst(`/webhooks/:id/${verb}`, "webhook:manage", ask, (context) => act(options, context));
}

type Question = Pick<Confirmation, "title" | "text" | "verb" | "isDangerous">;

function test(options: DashboardOptions): DashboardRoute {
  return post("/webhooks/:id/test", "webhook:manage", async (context) => {
    const { id } = await activeEndpointOf(options, context);
    const deliveryId = await testOrRefuse(options.deps, id, context.commandContext());
    const notice = "A test is on its way. Load the page again to see what the endpoint answers.";
    return context.seeOther(`/webhooks/${id}/deliveries/${deliveryId}`, notice);
  });
}

function enable(options: DashboardOptions): DashboardRoute {
  return post("/webhooks/:id/enable", "webhook:manage", async (context) => {
    const { id } = await endpointOf(options, context);
    await enableWebhookEndpoint(options.deps, id, context.commandContext());
    return context.seeOther(
      `/webhooks/${id}`,
      "It gets what happens from now on. What it missed can be recovered.",
    );
  });
}

function disableQuestion({ url }: WebhookEndpointRow): Question {
  return {
    title: "Disable the endpoint",
    text: (
      <p>
        <code>{url}</code> gets nothing until it is enabled again, and its pending deliveries are skipped. All
        of that is kept for 14 days and can be recovered.
      </p>
    ),
    verb: "Disable",
  };
}

const disable: Act = async (options, context) => {
  const { id } = await endpointOf(options, context);
  await disableWebhookEndpoint(options.deps, id, context.commandContext());
  return context.seeOther(`/webhooks/${id}`, "The endpoint was disabled.");
};

function deleteQuestion({ url }: WebhookEndpointRow): Question {
  return {
    title: "Delete the endpoint",
    text: (
      <p>
        What is pending for <code>{url}</code> is skipped, and its deliveries can neither be seen nor
        recovered any more. This cannot be undone: added again, the address is a new endpoint with a new
        secret.
      </p>
    ),
    verb: "Delete",
    isDangerous: true,
  };
}

const remove: Act = async (options, context) => {
  const { id, url } = await endpointOf(options, context);
  found(await deleteWebhookEndpoint(options.deps, id, context.commandContext()), "WEBHOOK_NOT_FOUND");
  return context.seeOther("/webhooks", `${url} was deleted.`);
};

function rotateQuestion({ url }: WebhookEndpointRow): Question {
  return {
    title: "Rotate the signing secret",
    text: (
      <>
        <p>
          <code>{url}</code> gets a new secret, which is shown once. Until the old one ends, both sign every
          call, so no call is refused meanwhile. Earlier secrets sign no longer than that.
        </p>
        <Select
          name="overlap_ms"
          label="The old secret signs for"
          options={OVERLAPS_MS.map((ms) => ({
            value: String(ms),
            label: ms === 0 ? "Not at all: it has leaked" : lengthOfTime(ms),
          }))}
        />
      </>
    ),
    verb: "Rotate",
  };
}

const rotate: Act = async (options, context) => {
  const { id, url } = await endpointOf(options, context);
  const overlapMs = choiceOf(context.form, "overlap_ms", OVERLAPS_MS);
  const rotation = { endpointId: id, overlapMs, rotationId: context.formId };
  const outcome = await rotateWebhookSecret(options.deps, rotation, context.commandContext());
  if (outcome.kind === "notFound") throw new Problem("WEBHOOK_NOT_FOUND");
  if (outcome.kind === "repeated") return repeatedEndpointPage(context, id);
  const { secret } = outcome;
  const until =
    overlapMs === 0
      ? "The old secret no longer signs."
      : `Both sign for ${lengthOfTime(overlapMs)} from now.`;
  return secretPage(context, {
    endpointId: id,
    url,
    secret,
    title: "The secret was rotated",
    advice: `${until} Give the new one to whatever listens there.`,
  });
};

function recoverQuestion(): Question {
  return {
    title: "Recover what was missed",
    text: (
      <>
        <p>
          What was given up, waits for its next attempt, was skipped, or happened while the endpoint was
          disabled is delivered now. What is under way is left alone.
        </p>
        <Select
          name="since_ms"
          label="From the last"
          options={RECOVERIES_MS.map((ms) => ({ value: String(ms), label: lengthOfTime(ms) }))}
        />
      </>
    ),
    verb: "Recover",
  };
}

const recover: Act = async (options, context) => {
  const { id } = await activeEndpointOf(options, context);
  const since = rfc3339(options.deps.clock.now() - choiceOf(context.form, "since_ms", RECOVERIES_MS));
  const { requested, hasMore } = await recoverSince(
    options,
    { endpointId: id, since },
    context.commandContext(),
  );
  return context.seeOther(`/webhooks/${id}`, recoveredText(requested, hasMore));
};

function recoveredText(requested: number, hasMore: boolean): string {
  if (requested === 0) return "There was nothing to recover.";
  const count = requested === 1 ? "One delivery is" : `${requested} deliveries are`;
  return `${count} sent once more.${hasMore ? " There are more: recover again." : ""}`;
}

/** One of the durations that a form offers. Throws INVALID_REQUEST for any other. */
function choiceOf(form: URLSearchParams, name: string, choices: readonly number[]): number {
  const ms = wholeNumber(form.get(name) ?? "");
  const chosen = choices.find((one) => one === ms);
  if (chosen === undefined) throw invalid(`/${name}`, "is none of the choices");
  return chosen;
}
