import { findVersion, type Template, type TemplateVersion, templateIn } from "../../domain/template/state.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { templateAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadAllOfKind } from "../loadAllOfKind.ts";
import { load } from "../transact.ts";
import { readVersionSource, type VersionSource } from "./compiledTemplateCache.ts";

/** The id of a template, and the workspace that it must belong to. */
export interface TemplateLocation {
  readonly workspaceId: string;
  readonly templateId: string;
}

/** A version with its source and its current status. */
export interface VersionView {
  readonly version: TemplateVersion;
  readonly source: VersionSource;
}

/** A template, from its stream; null if there is none, or if it is another workspace's. */
export async function readTemplate(
  deps: Dependencies,
  { workspaceId, templateId }: TemplateLocation,
): Promise<Template | null> {
  const since = await deps.templates.loaded(templateId);
  const { state } = await load(deps.store, templateAggregate.of(templateId), since);
  return templateIn(state, workspaceId);
}

/** All templates of a workspace by id, from one read of the log. Throws `StoreError`. */
export async function templatesOfWorkspace(
  store: EventStore,
  workspaceId: string,
): Promise<ReadonlyMap<string, Template>> {
  const all = await loadAllOfKind(store, templateAggregate);
  return new Map(
    [...all].flatMap(([id, state]) => {
      const template = templateIn(state, workspaceId);
      return template === null ? [] : [[id, template] as const];
    }),
  );
}

/** One version of a template with its source; null if there is none. */
export async function readTemplateVersion(
  deps: Dependencies,
  location: TemplateLocation,
  versionId: string,
): Promise<VersionView | null> {
  const template = await readTemplate(deps, location);
  const version = template && findVersion(template, versionId);
  return version && viewVersion(deps, location.templateId, version);
}

/** Adds the source to a version; null if the template was deleted since. */
export async function viewVersion(
  deps: Dependencies,
  templateId: string,
  version: TemplateVersion,
): Promise<VersionView | null> {
  const source = await readVersionSource(deps.store, templateId, version);
  return source && { version, source };
}
