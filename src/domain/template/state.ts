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
  readonly isArchived: boolean;
  /** In the order of their numbers. */
  readonly versions: readonly TemplateVersion[];
  /** The version published last, which sends use by default; null before the first publication. */
  readonly currentVersionId: string | null;
  readonly createdAt: string;
  /** When anything except its drafts last changed. */
  readonly updatedAt: string;
  /** The number of events, and so the next revision: only the stream of a deleted template is ever truncated. */
  readonly revisions: number;
}

/** `null` before the template was created, and after it was deleted. */
export type TemplateState = Template | null;

function evolve(state: TemplateState, event: TemplateEvent): TemplateState {
  if (event.type === "TemplateCreated") {
    const { workspaceId, name, at } = event.data;
    const times = { createdAt: at, updatedAt: at };
    return {
      workspaceId,
      name,
      isArchived: false,
      versions: [],
      currentVersionId: null,
      ...times,
      revisions: 1,
    };
  }
  if (state === null || event.type === "TemplateDeleted") return null;
  return { ...evolveExisting(state, event), revisions: state.revisions + 1 };
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
  if (state === null || state.workspaceId !== workspaceId) return "unknown";
  if (state.isArchived) return "archived";
  if (versionId === null) return "unpublished";
  return findVersion(state, versionId) === null ? "unknownVersion" : "draftVersion";
}

/** The version that a send of this workspace uses; null if the template is not available to it. */
export function versionForSend(
  state: TemplateState,
  workspaceId: string,
  versionId: string | null,
): TemplateVersion | null {
  if (state === null || state.workspaceId !== workspaceId || state.isArchived) return null;
  const wanted = versionId ?? state.currentVersionId;
  const version = wanted === null ? null : findVersion(state, wanted);
  return version === null || version.publishedAt === null ? null : version;
}
