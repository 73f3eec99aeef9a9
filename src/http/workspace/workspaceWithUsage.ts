import { contentBytesOf } from "../../../projections/emails/queries.ts";
import { sourceBytesOf } from "../../../projections/templates.ts";
import { readWorkspace } from "../../commands/workspace/readWorkspace.ts";
import { limitsOf } from "../../domain/workspace/workspaceLimits.ts";
import { invariant } from "../../kernel/assert.ts";
import { mailOwnerId } from "../../kernel/liveOrTestOwner.ts";
import { catchUpIfInTime, type ListSource } from "../lists/caughtUpReads.ts";
import { type WorkspaceUsage, workspaceJson } from "./workspaceResource.ts";

/** Waits briefly until a workspace's counts hold what was written before the call. */
export async function whenCounted({ readModel }: ListSource): Promise<void> {
  await Promise.all((["emails", "templates"] as const).map((name) => catchUpIfInTime(readModel(name))));
}

/** A key's workspace with its limits and their usage, as JSON. */
export async function readWorkspaceWithUsage(options: ListSource, id: string) {
  const found = await readWorkspace(options.deps, id);
  invariant(found, "a key belongs to a workspace that exists");
  const limits = limitsOf(found.workspace, options.deps.limitsDefault);
  return workspaceJson(id, found, limits, await readUsage(options, id));
}

async function readUsage({ deps, readModel }: ListSource, id: string): Promise<WorkspaceUsage> {
  const emails = readModel("emails").db;
  const testOwnerId = mailOwnerId({ workspaceId: id, isTest: true });
  return {
    messages_today: await deps.quota.used(id, deps.clock.now()),
    storage_bytes: await deps.storage.used(id),
    content_bytes: contentBytesOf(emails, id) + sourceBytesOf(readModel("templates").db, id),
    test_storage_bytes: await deps.storage.used(testOwnerId),
    test_content_bytes: contentBytesOf(emails, testOwnerId),
  };
}
