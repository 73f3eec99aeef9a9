/** @jsxImportSource hono/jsx */
import type { EmailView } from "../../../commands/email/readEmail.ts";
import { rescheduleEmail } from "../../../commands/email/rescheduleEmail.ts";
import { PAST_DEADLINE, SCHEDULE_AHEAD_MS_MAX, scheduleFault } from "../../../domain/email/scheduledTime.ts";
import { DAY_MS, type EpochMs, parseDateTime, rfc3339 } from "../../../kernel/time.ts";
import { found } from "../../server/problem.ts";
import { confirmationPage } from "../components/confirmationPage.tsx";
import { Field } from "../components/form.tsx";
import { fieldTime, timeOfField } from "../components/time.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf, formFields } from "../frame/formBody.ts";
import { reachable } from "./emailActionRoutes.tsx";
import { aboveMessage } from "./emailRoutes.tsx";

type Options = Pick<DashboardOptions, "deps">;

const SCOPE = "email:send";

/** Moving a scheduled message to another time, and sending it now. */
export function rescheduleRoutes(options: Options): readonly DashboardRoute[] {
  return [
    get("/messages/:id/reschedule", SCOPE, async (context) =>
      askTime(context, await reachable(options, context)),
    ),
    post("/messages/:id/reschedule", SCOPE, (context) => doReschedule(options, context)),
    post("/messages/:id/send-now", SCOPE, async (context) => {
      return moved(options, context, await reachable(options, context), options.deps.clock.now());
    }),
  ];
}

function askTime(context: PageContext, view: EmailView, fault?: string): Page {
  const { scheduledAt } = view.email;
  const field = formFields(context.form, fault === undefined ? {} : { scheduled_at: fault });
  const page = confirmationPage(context, {
    title: "Reschedule",
    question: "Send this message at another time?",
    above: aboveMessage(context, view),
    verb: "Reschedule",
    text: (
      <Field
        {...field("scheduled_at", scheduledAt === null ? "" : fieldTime(rfc3339(scheduledAt)))}
        label="Time (UTC)"
        type="datetime-local"
        isUtc
        hint={hintOf(view)}
        isRequired
      />
    ),
  });
  return { ...page, status: fault === undefined ? 200 : 422 };
}

function hintOf({ email: { deliverBefore } }: EmailView): string {
  const ahead = `At most ${SCHEDULE_AHEAD_MS_MAX / DAY_MS} days ahead`;
  if (deliverBefore === null) return `${ahead}.`;
  return `${ahead}, and before ${fieldTime(rfc3339(deliverBefore)).replace("T", " ")} UTC: it is not delivered after that.`;
}

async function doReschedule(options: Options, context: PageContext): Promise<Page | Response> {
  const view = await reachable(options, context);
  const at = parseDateTime(timeOfField(fieldOf(context.form, "scheduled_at")));
  if (at === null) return askTime(context, view, "It must be a day and a time.");
  const fault = scheduleFault(at, options.deps.clock.now());
  if (fault !== null) return askTime(context, view, `It ${fault}.`);
  return moved(options, context, view, at);
}

async function moved(
  { deps }: Options,
  context: PageContext,
  view: EmailView,
  at: EpochMs,
): Promise<Page | Response> {
  const { id } = view;
  const commandContext = context.commandContext();
  const outcome = found(await rescheduleEmail(deps, id, at, commandContext));
  if (outcome === "pastDeadline") return askTime(context, view, `It ${PAST_DEADLINE}.`);
  const notice =
    at > commandContext.at
      ? `It goes at ${fieldTime(rfc3339(at)).replace("T", " ")} UTC.`
      : "It is due now and goes next.";
  return context.seeOther(
    `/messages/${id}`,
    outcome === "rescheduled"
      ? notice
      : "It is no longer scheduled: its delivery has begun, or it has ended.",
  );
}
