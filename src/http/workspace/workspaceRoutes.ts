import { Elysia } from "elysia";
import { contentBytesOf } from "../../../projections/emails.ts";
import { sourceBytesOf } from "../../../projections/templates.ts";
import { emailsOfDay } from "../../../projections/usage.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { pauseWorkspace, readWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { limitsOf } from "../../domain/workspace/limits.ts";
import { invariant } from "../../kernel/assert.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { ReadModel } from "../lists/caughtUpReads.ts";
import { hooksOf } from "../server/operationHooks.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { workspaceOperations } from "./workspaceOperations.ts";
import { type WorkspaceUsage, workspaceJson } from "./workspaceResource.ts";

/** How long a look at the workspace waits for the count of its messages, before it is answered as it is. */
const COUNT_WAIT_MS = 1_000;

interface WorkspaceOptions {
  readonly deps: Dependencies;
  /** The read model `emails`: counts the day's messages and their content. */
  readonly emails: ReadModel;
  /** The read model `templates`. */
  readonly templates: ReadModel;
}

/** Reading the key's workspace, pausing and resuming its sending. */
export function workspaceController(options: WorkspaceOptions) {
  const { deps, emails, templates } = options;
  const hooks = hooksOf(deps, workspaceOperations);
  const shown = async (request: Request) => {
    const { workspaceId } = principalOf(request);
    const found = await readWorkspace(deps, workspaceId);
    invariant(found, "a key belongs to a workspace that exists");
    const limits = limitsOf(found.workspace, deps.limitsDefault);
    return workspaceJson(workspaceId, found, limits, await readUsage(options, workspaceId));
  };
  return new Elysia({ normalize: false })
    .get(
      routes.getWorkspace.path,
      async ({ request }) => {
        await Promise.all([emails.whenCaughtUp(COUNT_WAIT_MS), templates.whenCaughtUp(COUNT_WAIT_MS)]);
        return shown(request);
      },
      hooks("getWorkspace"),
    )
    .post(
      routes.pauseSending.path,
      async ({ request }) => {
        await pauseWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
        return shown(request);
      },
      hooks("pauseSending"),
    )
    .post(
      routes.resumeSending.path,
      async ({ request }) => {
        await resumeWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
        return shown(request);
      },
      hooks("resumeSending"),
    );
}

async function readUsage({ deps, emails, templates }: WorkspaceOptions, id: string): Promise<WorkspaceUsage> {
  return {
    messages_today: emailsOfDay(emails.db, id, rfc3339(deps.clock.now())),
    storage_bytes: await deps.storage.used(id),
    content_bytes: contentBytesOf(emails.db, id) + sourceBytesOf(templates.db, id),
  };
}
