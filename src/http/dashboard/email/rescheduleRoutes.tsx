/** @jsxImportSource hono/jsx */

import type { EmailView } from "../../../commands/email/readEmail.ts";
import { rescheduleEmail } from "../../../commands/email/rescheduleEmail.ts";
import { SCHEDULE_AHEAD_MS_MAX, scheduleFault } from "../../../domain/email/scheduledTime.ts";
import { DAY_MS, type EpochMs, parseDateTime, rfc3339 } from "../../../kernel/time.ts";
import { found } from "../../server/problem.ts";
import { confirmationPage } from "../components/confirmationPage.tsx";
import { Field } from "../components/form.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { reachable } from "./emailActionRoutes.tsx";
import { aboveMessage } from "./emailRoutes.tsx";

type Options = Pick<DashboardOptions, "deps">;

const SCOPE = "email:send";

/** Moving a scheduled message to another time, and sending it now. */
export function rescheduleRoutes(options: Options): readonly DashboardRoute[] {
  return [
    get("/messages/:id/reschedule", SCOPE, async (context) =>
      askTime(context, await reachable(options, context), {}),
    ),
    post("/messages/:id/reschedule", SCOPE, (context) => doReschedule(options, context)),
    post("/messages/:id/send-now", SCOPE, async (context) => {
      const { id } = await reachable(options, context);
      return moved(options, context, id, options.deps.clock.now());
    }),
  ];
}

interface Typed {
  readonly time?: string;
  readonly fault?: string;
}

/** A time in the form of `datetime-local`, in UTC: 2026-11-22T08:30. */
function fieldTime(at: EpochMs | null): string {
  return at === null ? "" : rfc3339(at).slice(0, "2026-11-22T08:30".length);
}

function askTime(context: PageContext, view: EmailView, { time, fault }: Typed): Page {
  const page = confirmationPage(context, {
    title: "Reschedule",
    question: "Send this message at another time?",
    above: aboveMessage(view),
    verb: "Reschedule",
    text: (
      <Field
        name="scheduled_at"
        label="Time (UTC)"
        type="datetime-local"
        isUtc
        value={time ?? fieldTime(view.email.scheduledAt)}
        hint={`At most ${SCHEDULE_AHEAD_MS_MAX / DAY_MS} days ahead.`}
        fault={fault}
        isRequired
      />
    ),
  });
  return { ...page, status: fault === undefined ? 200 : 422 };
}

async function doReschedule(options: Options, context: PageContext): Promise<Page | Response> {
  const view = await reachable(options, context);
  const time = (context.form.get("scheduled_at") ?? "").trim();
  // Browsers omit the seconds if they are 0.
  const at = parseDateTime(/^[^T]+T\d{2}:\d{2}$/.test(time) ? `${time}:00Z` : `${time}Z`);
  if (at === null) return askTime(context, view, { time, fault: "It must be a day and a time." });
  const fault = scheduleFault(at, options.deps.clock.now());
  if (fault !== null) return askTime(context, view, { time, fault: `It ${fault}.` });
  return moved(options, context, view.id, at);
}

async function moved({ deps }: Options, context: PageContext, id: string, at: EpochMs): Promise<Response> {
  const commandContext = context.commandContext();
  const outcome = found(await rescheduleEmail(deps, id, at, commandContext));
  const notice =
    at > commandContext.at
      ? `It goes at ${fieldTime(at).replace("T", " ")} UTC.`
      : "It is due now and goes next.";
  return context.seeOther(
    `/messages/${id}`,
    outcome === "rescheduled"
      ? notice
      : "It is no longer scheduled: its delivery has begun, or it has ended.",
  );
}
