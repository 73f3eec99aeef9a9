import {
  archiveTemplate,
  createTemplate,
  draftVersion,
  publishVersion,
  renameTemplate,
  type TemplateRefusal,
} from "../../domain/template/decisions.ts";
import { templateIdOfAlias } from "../../domain/template/templateAlias.ts";
import type { TemplateLimit } from "../../domain/template/templateLimits.ts";
import type { VersionContent } from "../../domain/template/versionContent.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { newId } from "../../kernel/ids.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { Dependencies } from "../dependencies.ts";
import { queueStreamWrite } from "../streamWriteQueue.ts";
import { readWorkspaceLimits } from "../workspace/readWorkspaceLimits.ts";
import type { TemplateLocation } from "./readTemplate.ts";

/**
 * How often callers may create a template under one alias in a day, and so how often they may delete it: each deletion
 * names all events of its earlier templates, and those count against the changes that the alias can have.
 */
const CREATIONS_PER_DAY_MAX = 50;

type State = Parameters<typeof createTemplate>[0];

/** A template to create. Without an alias it is named by its id alone. */
export interface NewTemplate {
  readonly name: string;
  readonly alias?: string | undefined;
}

/**
 * Creates a template without versions. `count` returns how many the workspace has now. Throws `ChangeRateError` if that
 * was done too often under this alias.
 */
export function newTemplate(
  deps: Dependencies,
  { name, alias }: NewTemplate,
  count: () => Promise<number>,
  context: WorkspaceCommandContext,
) {
  const { workspaceId } = context;
  // One after the other, so each is counted before the next one is created.
  return queueStreamWrite(deps.store, `templates of ${workspaceId}`, async () => {
    const templateId = alias === undefined ? newId() : templateIdOfAlias(workspaceId, alias);
    const data = { workspaceId, name, ...omitUndefined({ alias }), at: rfc3339(context.at) };
    const others = await count();
    const decide = (state: State) => createTemplate(state, data, others);
    const limit = alias === undefined ? {} : { changesPerDayMax: CREATIONS_PER_DAY_MAX };
    return { templateId, outcome: await deps.templates.transact(templateId, decide, context, limit) };
  });
}

/** Gives a template another name; messages do not show it. */
export function renameExistingTemplate(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
  name: string,
  context: CommandContext,
): Promise<"renamed" | TemplateLimit | TemplateRefusal> {
  const data = { name, at: rfc3339(context.at) };
  return deps.templates.transact(templateId, (state) => renameTemplate(state, workspaceId, data), context);
}

/** A version as its author gave it, after it was checked and compiled without a fault. */
export interface NewVersion extends VersionContent {
  /** The size of all four as JSON. */
  readonly bytes: number;
}

type DraftOutcome =
  | "drafted"
  | TemplateLimit
  /** The workspace's quota for content is used up. */
  | "quotaExceeded"
  | TemplateRefusal;

/** Adds a version to a template. Sends cannot use it before it is published. */
export async function draftTemplateVersion(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
  { variables, ...parts }: NewVersion,
  context: CommandContext,
): Promise<{ readonly outcome: DraftOutcome; readonly versionId: string }> {
  const versionId = newId();
  const { contentBytes } = await readWorkspaceLimits(deps, workspaceId);
  if (deps.contentQuota.isUsedUp(workspaceId, contentBytes)) return { outcome: "quotaExceeded", versionId };
  const draft = { versionId, ...parts, variables: [...variables], at: rfc3339(context.at) };
  const decide = (state: State) => draftVersion(state, workspaceId, draft);
  const outcome = await deps.templates.transact(templateId, decide, context);
  if (outcome === "drafted") deps.contentQuota.add(workspaceId, parts.bytes);
  return { outcome, versionId };
}

/** Makes a version the one that sends use by default. */
export function publishTemplateVersion(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
  versionId: string,
  context: CommandContext,
): Promise<"published" | TemplateLimit | TemplateRefusal> {
  const data = { versionId, at: rfc3339(context.at) };
  return deps.templates.transact(templateId, (state) => publishVersion(state, workspaceId, data), context);
}

/** Archives a template for good. Messages accepted with it are still delivered. */
export function archiveExistingTemplate(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
  context: CommandContext,
): Promise<"archived" | "notFound"> {
  const at = rfc3339(context.at);
  return deps.templates.transact(templateId, (state) => archiveTemplate(state, workspaceId, at), context);
}
