import {
  archiveTemplate,
  createTemplate,
  draftVersion,
  publishVersion,
  type TemplateRefusal,
} from "../../domain/template/decisions.ts";
import type { TemplateEvent } from "../../domain/template/events.ts";
import { findVersion, type Template, type TemplateVersion } from "../../domain/template/state.ts";
import type { VariableDefinition } from "../../domain/template/variables.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import { newId } from "../../kernel/ids.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { templateAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, transact } from "../transact.ts";
import { workspaceLimits } from "../workspace/workspaceLimits.ts";
import { readVersionSource, type VersionSource } from "./compiledTemplateCache.ts";

/** Whose template, and which. */
export interface TemplateLocation {
  readonly workspaceId: string;
  readonly templateId: string;
}

/** A version with its source and its current status. */
export interface VersionView {
  readonly version: TemplateVersion;
  readonly source: VersionSource;
}

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
  { workspaceId, name }: { readonly workspaceId: string; readonly name: string },
  context: CommandContext,
): Promise<string> {
  const id = newId();
  const data = { workspaceId, name, at: rfc3339(context.at) };
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
  const { contentBytes } = await workspaceLimits(deps, workspaceId);
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

/** A template by its stream; null when there is none, also when it is another workspace's. */
export async function readTemplate(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
): Promise<Template | null> {
  const since = await deps.templates.loaded(templateId);
  const { state } = await load(deps.store, templateAggregate.of(templateId), since);
  return state?.workspaceId === workspaceId ? state : null;
}

/** One version of a template with its source; null when there is none. */
export async function readTemplateVersion(
  deps: Dependencies,
  location: TemplateLocation,
  versionId: string,
): Promise<VersionView | null> {
  const template = await readTemplate(deps, location);
  const version = template && findVersion(template, versionId);
  return version && viewVersion(deps, location.templateId, version);
}

/** Adds the source to what a template knows of a version; null when the template was deleted since. */
export async function viewVersion(
  deps: Dependencies,
  templateId: string,
  version: TemplateVersion,
): Promise<VersionView | null> {
  const source = await readVersionSource(deps.store, templateId, version);
  return source && { version, source };
}
