import { Elysia } from "elysia";
import { contentBytesOf } from "../../../projections/emails.ts";
import { sourceBytesOf } from "../../../projections/templates.ts";
import { emailsOfDay } from "../../../projections/usage.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { pauseWorkspace, readWorkspace, resumeWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { limitsOf, type WorkspaceLimits } from "../../domain/workspace/limits.ts";
import type { Workspace } from "../../domain/workspace/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { NoQuery } from "../body/commonSchemas.ts";
import type { ReadModel } from "../lists/caughtUpReads.ts";
import { authorize, authorizeUnread } from "../server/authorization.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";

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
  const told = (request: Request) => workspaceJson(options, principalOf(request).workspaceId);
  return new Elysia({ normalize: false })
    .get(
      routes.getWorkspace.path,
      async ({ request }) => {
        await Promise.all([emails.whenCaughtUp(COUNT_WAIT_MS), templates.whenCaughtUp(COUNT_WAIT_MS)]);
        return told(request);
      },
      { transform: authorize(deps, routes.getWorkspace), query: NoQuery },
    )
    .post(
      routes.pauseSending.path,
      async ({ request }) => {
        await pauseWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
        return told(request);
      },
      { parse: authorizeUnread(deps, routes.pauseSending), query: NoQuery },
    )
    .post(
      routes.resumeSending.path,
      async ({ request }) => {
        await resumeWorkspace(deps, principalOf(request).workspaceId, commandContextOf(request, deps));
        return told(request);
      },
      { parse: authorizeUnread(deps, routes.resumeSending), query: NoQuery },
    );
}

async function workspaceJson({ deps, emails, templates }: WorkspaceOptions, id: string) {
  const found = await readWorkspace(deps, id);
  invariant(found, "a key belongs to a workspace that exists");
  const { workspace, createdAt } = found;
  const pausedAt = pausedSince(workspace);
  return {
    id,
    object: "workspace",
    name: workspace.name,
    sending: workspace.paused ? "paused" : "active",
    paused_at: pausedAt === null ? null : rfc3339(pausedAt),
    limits: limitsJson(limitsOf(workspace, deps.limitsDefault)),
    usage: {
      messages_today: emailsOfDay(emails.db, id, rfc3339(deps.clock.now())),
      storage_bytes: await deps.storage.used(id),
      content_bytes: contentBytesOf(emails.db, id) + sourceBytesOf(templates.db, id),
    },
    created_at: createdAt,
  };
}

function pausedSince({ pauses }: Workspace): number | null {
  return pauses.find(({ to }) => to === null)?.from ?? null;
}

function limitsJson(limits: WorkspaceLimits) {
  return {
    messages_per_day: limits.messagesPerDay,
    storage_bytes: limits.storageBytes,
    content_bytes: limits.contentBytes,
    key_requests_per_second: limits.keyRequestsPerSecond || null,
    workspace_requests_per_second: limits.workspaceRequestsPerSecond || null,
    attachment_retention_hours: limits.attachmentRetentionHours,
    content_retention_days: limits.contentRetentionDays,
    archive_attachments: limits.archiveAttachments,
  };
}
