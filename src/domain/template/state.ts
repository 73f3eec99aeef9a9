import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import type { TemplateEvent } from "./events.ts";

/** A version without its source, which is read from the log on demand. Times are RFC 3339. */
export interface TemplateVersion {
  readonly id: string;
  readonly number: number;
  /** The revision of the event that holds the source. */
  readonly revision: number;
  readonly bytes: number;
  readonly createdAt: string;
  /** When it was first published; null for a draft. */
  readonly publishedAt: string | null;
}

export interface Template {
  readonly workspaceId: string;
  readonly name: string;
  /** Null if it is named by its id alone. */
  readonly alias: string | null;
  readonly isArchived: boolean;
  /** In the order of their numbers. */
  readonly versions: readonly TemplateVersion[];
  /** The version published last, which sends use by default; null before the first publication. */
  readonly currentVersionId: string | null;
  readonly createdAt: string;
  /** When anything except its drafts last changed. */
  readonly updatedAt: string;
  /** The next revision of its stream, and so the number of all changes under its id. */
  readonly revisions: number;
}

/** What is left of a deleted template, whose alias may be taken again: another template then continues the stream. */
interface DeletedTemplate {
  readonly workspaceId: null;
  readonly revisions: number;
}

/** `null` if no template was ever created. */
export type TemplateState = Template | DeletedTemplate | null;

function evolve(state: TemplateState, event: TemplateEvent): TemplateState {
  if (event.type === "TemplateCreated") {
    const { workspaceId, name, alias = null, at } = event.data;
    return {
      workspaceId,
      name,
      alias,
      isArchived: false,
      versions: [],
      currentVersionId: null,
      createdAt: at,
      updatedAt: at,
      revisions: (state?.revisions ?? 0) + 1,
    };
  }
  if (event.type === "TemplateDeleted") return { workspaceId: null, revisions: revisionsWith(event.data) };
  if (state === null || state.workspaceId === null) return state;
  return { ...evolveExisting(state, event), revisions: state.revisions + 1 };
}

/** The next revision after a deletion. It names all events before it, in their order, and is what is left to read. */
function revisionsWith({ erased }: Extract<TemplateEvent, { type: "TemplateDeleted" }>["data"]): number {
  return (erased.at(-1)?.revision ?? -1) + 2;
}

function evolveExisting(
  state: Template,
  event: Exclude<TemplateEvent, { type: "TemplateCreated" | "TemplateDeleted" }>,
): Template {
  switch (event.type) {
    case "TemplateRenamed":
      return { ...state, name: event.data.name, updatedAt: event.data.at };
    case "TemplateVersionDrafted": {
      const { versionId: id, number, bytes, at: createdAt } = event.data;
      const version = { id, number, revision: state.revisions, bytes, createdAt, publishedAt: null };
      return { ...state, versions: [...state.versions, version] };
    }
    case "TemplateVersionPublished": {
      const { versionId, at } = event.data;
      const versions = state.versions.map((version) =>
        version.id === versionId ? { ...version, publishedAt: version.publishedAt ?? at } : version,
      );
      return { ...state, versions, currentVersionId: versionId, updatedAt: at };
    }
    case "TemplateArchived":
      return { ...state, isArchived: true, updatedAt: event.data.at };
    default:
      return never(event);
  }
}

export const templateDecider: Decider<TemplateState, TemplateEvent> = { initialState: null, evolve };

/** The template, if there is one and it is this workspace's. */
export function templateIn(state: TemplateState, workspaceId: string): Template | null {
  return state?.workspaceId === workspaceId ? state : null;
}

/** A template is published as soon as one version is, and archived for good. */
export function templateStatus(template: Template): "draft" | "published" | "archived" {
  if (template.isArchived) return "archived";
  return template.currentVersionId === null ? "draft" : "published";
}

export function findVersion(template: Template, versionId: string): TemplateVersion | null {
  return template.versions.find(({ id }) => id === versionId) ?? null;
}

/** Why a send cannot use a template or its version. */
export type TemplateFault = "unknown" | "archived" | "unpublished" | "unknownVersion" | "draftVersion";

/** Why there is no {@link versionForSend}. */
export function templateFault(
  state: TemplateState,
  workspaceId: string,
  versionId: string | null,
): TemplateFault {
  const template = templateIn(state, workspaceId);
  if (template === null) return "unknown";
  if (template.isArchived) return "archived";
  if (versionId === null) return "unpublished";
  return findVersion(template, versionId) === null ? "unknownVersion" : "draftVersion";
}

/** The version that a send of this workspace uses; null if the template is not available to it. */
export function versionForSend(
  state: TemplateState,
  workspaceId: string,
  versionId: string | null,
): TemplateVersion | null {
  const template = templateIn(state, workspaceId);
  if (template === null || template.isArchived) return null;
  const wanted = versionId ?? template.currentVersionId;
  const version = wanted === null ? null : findVersion(template, wanted);
  return version === null || version.publishedAt === null ? null : version;
}
