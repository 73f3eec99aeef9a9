import {
  archiveTemplate,
  createTemplate,
  draftVersion,
  publishVersion,
  type TemplateRefusal,
} from "../../domain/template/decisions.ts";
import { templateStream } from "../../domain/template/events.ts";
import { findVersion, type Template, type TemplateVersion } from "../../domain/template/state.ts";
import type { VariableDefinition } from "../../domain/template/variables.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import { newId } from "../../kernel/ids.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { templateAggregate } from "../aggregates.ts";
import type { Services } from "../dependencies.ts";
import { load, transact } from "../transact.ts";
import { workspaceLimits } from "../workspace/workspaceLimits.ts";
import { readVersionSource, type VersionSource } from "./compiledTemplateCache.ts";

/** Whose template, and which. */
export interface TemplatePlace {
  readonly workspaceId: string;
  readonly templateId: string;
}

/** A version with its source, as it stands now. */
export interface VersionView {
  readonly version: TemplateVersion;
  readonly source: VersionSource;
}

type State = Parameters<typeof createTemplate>[0];
type Event = Parameters<typeof templateAggregate.encode>[0];

async function change<Outcome>(
  services: Services,
  templateId: string,
  decide: (state: State) => Decision<Outcome, Event>,
  context: CommandContext,
): Promise<Outcome> {
  // A template may be megabytes long: what is known of it is not read again.
  const since = () => services.templates.loaded(templateId);
  const aggregate = { ...templateAggregate, stream: templateStream(templateId), since };
  const outcome = await transact(services.store, aggregate, decide, context);
  services.templates.forget(templateId);
  return outcome;
}

/** Creates a template without versions and answers its id. */
export async function newTemplate(
  services: Services,
  { workspaceId, name }: { readonly workspaceId: string; readonly name: string },
  context: CommandContext,
): Promise<string> {
  const id = newId();
  const data = { workspaceId, name, at: rfc3339(context.at) };
  await change(services, id, (state) => createTemplate(state, data), context);
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
  /** The workspace's allowance for content is used up. */
  | "noRoom"
  | TemplateRefusal;

/** Adds a version to a template; it is not sent before it is published. */
export async function draftTemplateVersion(
  services: Services,
  { workspaceId, templateId }: TemplatePlace,
  { variables, ...parts }: NewVersion,
  context: CommandContext,
): Promise<{ readonly outcome: DraftOutcome; readonly versionId: string }> {
  const versionId = newId();
  const { contentBytes } = await workspaceLimits(services, workspaceId);
  if (services.contentAllowance.isUsedUp(workspaceId, contentBytes)) return { outcome: "noRoom", versionId };
  const draft = { versionId, ...parts, variables: [...variables], at: rfc3339(context.at) };
  const decide = (state: State) => draftVersion(state, workspaceId, draft);
  const outcome = await change(services, templateId, decide, context);
  if (outcome === "drafted") services.contentAllowance.add(workspaceId, parts.bytes);
  return { outcome, versionId };
}

/** Makes a version the one that sends use. */
export function publishTemplateVersion(
  services: Services,
  { workspaceId, templateId }: TemplatePlace,
  versionId: string,
  context: CommandContext,
): Promise<"published" | "limitReached" | TemplateRefusal> {
  const data = { versionId, at: rfc3339(context.at) };
  return change(services, templateId, (state) => publishVersion(state, workspaceId, data), context);
}

/** Ends a template for good. What was accepted with it is delivered all the same. */
export function retireTemplate(
  services: Services,
  { workspaceId, templateId }: TemplatePlace,
  context: CommandContext,
): Promise<"archived" | "notFound"> {
  const at = rfc3339(context.at);
  return change(services, templateId, (state) => archiveTemplate(state, workspaceId, at), context);
}

/** A template as its stream tells it now; null when there is none, also when it is another workspace's. */
export async function readTemplate(
  services: Services,
  { workspaceId, templateId }: TemplatePlace,
): Promise<Template | null> {
  const since = await services.templates.loaded(templateId);
  const { state } = await load(services.store, templateAggregate, templateStream(templateId), since);
  return state?.workspaceId === workspaceId ? state : null;
}

/** One version of a template with its source; null when there is none. */
export async function readTemplateVersion(
  services: Services,
  place: TemplatePlace,
  versionId: string,
): Promise<VersionView | null> {
  const template = await readTemplate(services, place);
  const version = template && findVersion(template, versionId);
  return version && viewVersion(services, place.templateId, version);
}

/** Adds the source to what a template knows of a version; null when the template was deleted since. */
export async function viewVersion(
  services: Services,
  templateId: string,
  version: TemplateVersion,
): Promise<VersionView | null> {
  const source = await readVersionSource(services.store, templateId, version);
  return source && { version, source };
}
