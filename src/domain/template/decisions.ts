import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { TemplateEvent } from "./events.ts";
import { findVersion, type Template, type TemplateState } from "./state.ts";
import { CHANGES_MAX, TEMPLATE_BYTES_MAX, VERSIONS_MAX } from "./templateLimits.ts";

type Drafted = Extract<TemplateEvent, { type: "TemplateVersionDrafted" }>["data"];

/** Why a workspace cannot change a template: it is not its own, or it is archived for good. */
export type TemplateRefusal = "notFound" | "archived";

export function createTemplate(
  state: TemplateState,
  data: { readonly workspaceId: string; readonly name: string; readonly at: string },
): Decision<"created" | "alreadyExists", TemplateEvent> {
  if (state !== null) return decided("alreadyExists");
  return decided("created", { type: "TemplateCreated", data });
}

function refusal(state: TemplateState, workspaceId: string): TemplateRefusal | null {
  if (state === null || state.workspaceId !== workspaceId) return "notFound";
  return state.isArchived ? "archived" : null;
}

/** Adds a version, which never changes again. A repeat with the same version id gives no events. */
export function draftVersion(
  state: TemplateState,
  workspaceId: string,
  draft: Omit<Drafted, "number">,
): Decision<"drafted" | "limitReached" | TemplateRefusal, TemplateEvent> {
  const refused = refusal(state, workspaceId);
  if (state === null || refused !== null) return decided(refused ?? "notFound");
  if (findVersion(state, draft.versionId) !== null) return decided("drafted");
  if (!hasRoom(state, draft.bytes)) return decided("limitReached");
  const number = state.versions.length + 1;
  return decided("drafted", { type: "TemplateVersionDrafted", data: { ...draft, number } });
}

/** Gives a template another name. The name that it has gives no events. */
export function renameTemplate(
  state: TemplateState,
  workspaceId: string,
  data: { readonly name: string; readonly at: string },
): Decision<"renamed" | "limitReached" | TemplateRefusal, TemplateEvent> {
  const refused = refusal(state, workspaceId);
  if (state === null || refused !== null) return decided(refused ?? "notFound");
  if (state.name === data.name) return decided("renamed");
  if (state.revisions > CHANGES_MAX) return decided("limitReached");
  return decided("renamed", { type: "TemplateRenamed", data });
}

function hasRoom({ versions, revisions }: Template, bytes: number): boolean {
  const total = versions.reduce((sum, version) => sum + version.bytes, bytes);
  return versions.length < VERSIONS_MAX && total <= TEMPLATE_BYTES_MAX && revisions <= CHANGES_MAX;
}

/** Makes a version the current one; it may be an older one. Publishing the current one again gives no events. */
export function publishVersion(
  state: TemplateState,
  workspaceId: string,
  data: { readonly versionId: string; readonly at: string },
): Decision<"published" | "limitReached" | TemplateRefusal, TemplateEvent> {
  const refused = refusal(state, workspaceId);
  if (state === null || refused !== null) return decided(refused ?? "notFound");
  if (findVersion(state, data.versionId) === null) return decided("notFound");
  if (state.currentVersionId === data.versionId) return decided("published");
  if (state.revisions > CHANGES_MAX) return decided("limitReached");
  return decided("published", { type: "TemplateVersionPublished", data });
}

/** Archives a template: nothing is sent, drafted or published with it again. A repeat gives no events. */
export function archiveTemplate(
  state: TemplateState,
  workspaceId: string,
  at: string,
): Decision<"archived" | "notFound", TemplateEvent> {
  const refused = refusal(state, workspaceId);
  if (refused !== null) return decided(refused);
  return decided("archived", { type: "TemplateArchived", data: { at } });
}

/** Deletes a template, archived or not. `erased`: all of its events so far, which are to be truncated. */
export function deleteTemplate(
  state: TemplateState,
  data: Extract<TemplateEvent, { type: "TemplateDeleted" }>["data"],
): Decision<"deleted" | "notFound", TemplateEvent> {
  if (state === null || state.workspaceId !== data.workspaceId) return decided("notFound");
  return decided("deleted", { type: "TemplateDeleted", data });
}
