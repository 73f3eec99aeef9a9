import {
  archiveTemplate,
  createTemplate,
  draftVersion,
  publishVersion,
  type TemplateRefusal,
} from "../../domain/template/decisions.ts";
import type { TemplateEvent } from "../../domain/template/events.ts";
import type { VariableDefinition } from "../../domain/template/variables.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import { newId } from "../../kernel/ids.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { templateAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";
import { readWorkspaceLimits } from "../workspace/readWorkspaceLimits.ts";
import type { TemplateLocation } from "./readTemplate.ts";

type State = Parameters<typeof createTemplate>[0];

async function change<Outcome>(
  deps: Dependencies,
  templateId: string,
  decide: (state: State) => Decision<Outcome, TemplateEvent>,
  context: CommandContext,
): Promise<Outcome> {
  // A template may be megabytes long: what is known of it is not read again.
  const since = () => deps.templates.loaded(templateId);
  const aggregate = { ...templateAggregate.of(templateId), since };
  const outcome = await transact(deps.store, aggregate, decide, context);
  deps.templates.forget(templateId);
  return outcome;
}

/** Creates a template without versions and answers its id. */
export async function newTemplate(
  deps: Dependencies,
  name: string,
  context: WorkspaceCommandContext,
): Promise<string> {
  const id = newId();
  const data = { workspaceId: context.workspaceId, name, at: rfc3339(context.at) };
  await change(deps, id, (state) => createTemplate(state, data), context);
  return id;
}

/** A version's parts as their author gives them, checked and compiled without a fault. */
export interface NewVersion {
  readonly subject: string;
  readonly html: string | null;
  readonly text: string | null;
  readonly variables: readonly VariableDefinition[];
  /** How long the four of them are as JSON. */
  readonly bytes: number;
}

export type DraftOutcome =
  | "drafted"
  | "limitReached"
  /** The workspace's quota for content is used up. */
  | "quotaExceeded"
  | TemplateRefusal;

/** Adds a version to a template; it is not sent before it is published. */
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
  const outcome = await change(deps, templateId, decide, context);
  if (outcome === "drafted") deps.contentQuota.add(workspaceId, parts.bytes);
  return { outcome, versionId };
}

/** Makes a version the one that sends use. */
export function publishTemplateVersion(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
  versionId: string,
  context: CommandContext,
): Promise<"published" | "limitReached" | TemplateRefusal> {
  const data = { versionId, at: rfc3339(context.at) };
  return change(deps, templateId, (state) => publishVersion(state, workspaceId, data), context);
}

/** Ends a template for good. What was accepted with it is delivered all the same. */
export function archiveExistingTemplate(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
  context: CommandContext,
): Promise<"archived" | "notFound"> {
  const at = rfc3339(context.at);
  return change(deps, templateId, (state) => archiveTemplate(state, workspaceId, at), context);
}
