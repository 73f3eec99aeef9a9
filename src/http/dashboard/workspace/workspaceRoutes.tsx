/** @jsxImportSource hono/jsx */
import { listUsage } from "../../../../projections/emails/usage/queries.ts";
import { pauseWorkspace, resumeWorkspace } from "../../../commands/workspace/manageWorkspace.ts";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import { DAY_MS, rfc3339 } from "../../../kernel/time.ts";
import { readInSteps } from "../../lists/caughtUpReads.ts";
import { readWorkspaceWithUsage, whenCounted } from "../../workspace/workspaceWithUsage.ts";
import { asksFirst, type Confirmation } from "../components/confirmationPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { usageByTag } from "./usageByTag.ts";
import { type ShownUsage, WorkspacePage } from "./workspacePage.tsx";

const PATH = "/workspace";
const SCOPE = "workspace:manage";
const USAGE_DAYS = 30;

/** The workspace's state, limits and usage; pausing and resuming its sending. */
export function workspaceRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps } = options;
  return [
    get(PATH, SCOPE, (context) => workspacePage(options, context)),
    ...asksFirst(
      `${PATH}/pause`,
      SCOPE,
      () => PAUSING,
      async (context) => {
        await pauseWorkspace(deps, context.workspaceId, context.commandContext());
        return context.seeOther(PATH, "Sending is paused.");
      },
    ),
    post(`${PATH}/resume`, SCOPE, async (context) => {
      await resumeWorkspace(deps, context.workspaceId, context.commandContext());
      return context.seeOther(PATH, "Sending is resumed.");
    }),
  ];
}

async function workspacePage(options: DashboardOptions, context: PageContext): Promise<Page> {
  await whenCounted(options);
  const workspace = await readWorkspaceWithUsage(options, context.workspaceId);
  const usage = context.may("email:status") ? await usageOf(options, context) : null;
  return {
    title: "Workspace",
    body: <WorkspacePage context={context} workspace={workspace} usage={usage} />,
  };
}

/** The days with any activity, newest first, and the tags of their messages. */
async function usageOf(options: DashboardOptions, { principal }: PageContext): Promise<ShownUsage> {
  const tomorrow = (Math.floor(options.deps.clock.now() / DAY_MS) + 1) * DAY_MS;
  const range = { from: rfc3339(tomorrow - USAGE_DAYS * DAY_MS), before: rfc3339(tomorrow) };
  const ownerId = mailOwnerId(principal);
  const query = { ownerId, ...range, by: "day", limit: USAGE_DAYS } as const;
  const { rows: days } = await readInSteps(options.readModel("emails"), (db) => listUsage(db, query));
  return { days, tags: await usageByTag(options, { ownerId, ...range }) };
}

const PAUSING: Confirmation = {
  title: "Pause sending",
  above: [{ path: PATH, title: "Workspace" }],
  verb: "Pause",
  isDangerous: true,
  text: (
    <p>
      New messages are refused, and what is queued waits until sending is resumed. That time does not count
      against it. What a relay has taken already cannot be called back.
    </p>
  ),
};
