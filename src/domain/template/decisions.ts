import { invariant } from "../../kernel/assert.ts";
import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { TemplateEvent } from "./events.ts";
import {
  findVersion,
  type Template,
  type TemplateState,
  type TemplateVersion,
  templateDecider,
  templateIn,
} from "./state.ts";
import {
  CHANGES_MAX,
  isTemplateLimit,
  TEMPLATE_BYTES_MAX,
  TEMPLATES_MAX,
  type TemplateLimit,
  VERSIONS_LEFT_FEW,
  VERSIONS_MAX,
} from "./templateLimits.ts";

type Created = Extract<TemplateEvent, { type: "TemplateCreated" }>["data"];
type Drafted = Extract<TemplateEvent, { type: "TemplateVersionDrafted" }>["data"];

/** Why a workspace cannot change a template: it is not its own, or it is archived for good. */
export type TemplateRefusal = "notFound" | "archived";

/**
 * Creates a template. `count` is how many the workspace has. The same request again gives no events as long as the template
 * has this name and is not archived. An alias can be taken again once its template is deleted.
 */
export function createTemplate(
  state: TemplateState,
  data: Created,
  count: number,
): Decision<"created" | "alreadyCreated" | "aliasTaken" | TemplateLimit, TemplateEvent> {
  const template = templateIn(state, data.workspaceId);
  if (template !== null) {
    const isSame = template.name === data.name && !template.isArchived;
    return decided(isSame ? "alreadyCreated" : "aliasTaken");
  }
  if (count >= TEMPLATES_MAX) return decided("templatesUsedUp");
  if ((state?.revisions ?? 0) > CHANGES_MAX) return decided("aliasUsedUp");
  return decided("created", { type: "TemplateCreated", data });
}

/** The template that a workspace is to change, or why it cannot. */
function templateToChange(state: TemplateState, workspaceId: string): Template | TemplateRefusal {
  const template = templateIn(state, workspaceId);
  if (template === null) return "notFound";
  return template.isArchived ? "archived" : template;
}

/** Adds a version, which never changes again. A repeat with the same version id gives no events. */
export function draftVersion(
  state: TemplateState,
  workspaceId: string,
  draft: Omit<Drafted, "number">,
): Decision<"drafted" | TemplateLimit | TemplateRefusal, TemplateEvent> {
  const template = templateToChange(state, workspaceId);
  if (typeof template === "string") return decided(template);
  if (findVersion(template, draft.versionId) !== null) return decided("drafted");
  const limit = limitOfVersions(template, draft.bytes);
  if (limit !== null) return decided(limit);
  const number = template.versions.length + 1;
  return decided("drafted", { type: "TemplateVersionDrafted", data: { ...draft, number } });
}

/** Gives a template another name. The name that it has gives no events. */
export function renameTemplate(
  state: TemplateState,
  workspaceId: string,
  data: { readonly name: string; readonly at: string },
): Decision<"renamed" | TemplateLimit | TemplateRefusal, TemplateEvent> {
  const template = templateToChange(state, workspaceId);
  if (typeof template === "string") return decided(template);
  if (template.name === data.name) return decided("renamed");
  if (template.revisions > CHANGES_MAX) return decided("changesUsedUp");
  return decided("renamed", { type: "TemplateRenamed", data });
}

/** What leaves no room for another version of so many bytes; null if there is room. */
function limitOfVersions({ versions, revisions }: Template, bytes: number): TemplateLimit | null {
  if (versions.length >= VERSIONS_MAX) return "versionsUsedUp";
  if (bytesOf(versions) + bytes > TEMPLATE_BYTES_MAX) return "sourcesUsedUp";
  return revisions > CHANGES_MAX ? "changesUsedUp" : null;
}

/** How many more versions of so many bytes can be drafted and published. */
function versionsLeft({ versions, revisions }: Template, bytes: number): number {
  const bySources = Math.floor((TEMPLATE_BYTES_MAX - bytesOf(versions)) / bytes);
  const byChanges = Math.floor((CHANGES_MAX + 1 - revisions) / 2);
  return Math.max(0, Math.min(VERSIONS_MAX - versions.length, bySources, byChanges));
}

function bytesOf(versions: readonly TemplateVersion[]): number {
  return versions.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Makes a version the current one; it may be an older one. Publishing the current one again gives no events. */
export function publishVersion(
  state: TemplateState,
  workspaceId: string,
  data: { readonly versionId: string; readonly at: string },
): Decision<"published" | TemplateLimit | TemplateRefusal, TemplateEvent> {
  const template = templateToChange(state, workspaceId);
  if (typeof template === "string") return decided(template);
  if (findVersion(template, data.versionId) === null) return decided("notFound");
  if (template.currentVersionId === data.versionId) return decided("published");
  if (template.revisions > CHANGES_MAX) return decided("changesUsedUp");
  return decided("published", { type: "TemplateVersionPublished", data });
}

/** A template as it is kept outside of the log. */
interface PushedTemplate {
  readonly workspaceId: string;
  readonly alias: string;
  readonly name: string;
  /** Its id is that of the version with this content, if there is one. */
  readonly draft: Omit<Drafted, "number" | "at">;
  readonly isPublished: boolean;
  readonly at: string;
}

/** What a push did: nothing if the template was as pushed. `number` is that of the version with its content. */
interface Pushed {
  readonly changes: readonly TemplateEvent["type"][];
  readonly number: number;
  /** How many more versions of this size the template can have; only if they are few. */
  readonly versionsLeft?: number;
}

type PushStep = (
  now: TemplateState,
) => ReturnType<typeof createTemplate | typeof renameTemplate | typeof draftVersion | typeof publishVersion>;

/**
 * Makes a template what it is outside: created, named, with a version of this content, published if that is wanted.
 * Everything or nothing. `count` is as for {@link createTemplate}.
 */
export function pushTemplate(
  state: TemplateState,
  { workspaceId, alias, name, draft, isPublished, at }: PushedTemplate,
  count: number,
): Decision<Pushed | "archived" | TemplateLimit, TemplateEvent> {
  const { versionId } = draft;
  const create: PushStep = (now) => createTemplate(now, { workspaceId, name, alias, at }, count);
  const publish: PushStep = (now) => publishVersion(now, workspaceId, { versionId, at });
  const steps: readonly PushStep[] = [
    ...(templateIn(state, workspaceId) === null ? [create] : []),
    (now) => renameTemplate(now, workspaceId, { name, at }),
    (now) => draftVersion(now, workspaceId, { ...draft, at }),
    ...(isPublished ? [publish] : []),
  ];
  const events: TemplateEvent[] = [];
  let now = state;
  for (const step of steps) {
    const { outcome, events: more } = step(now);
    if (outcome === "archived" || isTemplateLimit(outcome)) return decided(outcome);
    events.push(...more);
    now = more.reduce(templateDecider.evolve, now);
  }
  const template = templateIn(now, workspaceId);
  const version = template && findVersion(template, versionId);
  invariant(version, "the steps have drafted it");
  const left = versionsLeft(template, version.bytes);
  const few = left < VERSIONS_LEFT_FEW ? { versionsLeft: left } : {};
  return decided({ changes: events.map(({ type }) => type), number: version.number, ...few }, ...events);
}

/** Archives a template: nothing is sent, drafted or published with it again. A repeat gives no events. */
export function archiveTemplate(
  state: TemplateState,
  workspaceId: string,
  at: string,
): Decision<"archived" | "notFound", TemplateEvent> {
  const template = templateToChange(state, workspaceId);
  if (typeof template === "string") return decided(template);
  return decided("archived", { type: "TemplateArchived", data: { at } });
}

/** Deletes a template, archived or not. `erased`: all of its events so far, which are to be truncated. */
export function deleteTemplate(
  state: TemplateState,
  data: Extract<TemplateEvent, { type: "TemplateDeleted" }>["data"],
): Decision<"deleted" | "notFound", TemplateEvent> {
  if (templateIn(state, data.workspaceId) === null) return decided("notFound");
  return decided("deleted", { type: "TemplateDeleted", data });
}
