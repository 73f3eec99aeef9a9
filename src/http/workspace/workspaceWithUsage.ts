import { contentBytesOf } from "../../../projections/emails/queries.ts";
import { sourceBytesOf } from "../../../projections/templates.ts";
import { emailsOfDay } from "../../../projections/usage/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readWorkspace } from "../../commands/workspace/manageWorkspace.ts";
import { limitsOf } from "../../domain/workspace/limits.ts";
import { invariant } from "../../kernel/assert.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { catchUpIfInTime, type ReadModel } from "../lists/caughtUpReads.ts";
import { type WorkspaceUsage, workspaceJson } from "./workspaceResource.ts";

export interface WorkspaceOptions {
  readonly deps: Dependencies;
  /** The read model `emails`: counts the day's messages and their content. */
  readonly emails: ReadModel;
  /** The read model `templates`. */
  readonly templates: ReadModel;
}

/** Waits for a moment until the counts of a workspace hold what was written before the call. */
export async function whenCounted({ emails, templates }: WorkspaceOptions): Promise<void> {
  await Promise.all([catchUpIfInTime(emails), catchUpIfInTime(templates)]);
}

/** The workspace of a key, with its limits and what is used of them, as answers show it. */
export async function readWorkspaceWithUsage(options: WorkspaceOptions, id: string) {
  const found = await readWorkspace(options.deps, id);
  invariant(found, "a key belongs to a workspace that exists");
  const limits = limitsOf(found.workspace, options.deps.limitsDefault);
  return workspaceJson(id, found, limits, await readUsage(options, id));
}

async function readUsage({ deps, emails, templates }: WorkspaceOptions, id: string): Promise<WorkspaceUsage> {
  return {
    messages_today: emailsOfDay(emails.db, id, rfc3339(deps.clock.now())),
    storage_bytes: await deps.storage.used(id),
    content_bytes: contentBytesOf(emails.db, id) + sourceBytesOf(templates.db, id),
  };
}
