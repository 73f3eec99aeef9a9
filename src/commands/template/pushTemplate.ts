import { pushTemplate as decidePush } from "../../domain/template/decisions.ts";
import { findVersion, type Template, type TemplateState, templateIn } from "../../domain/template/state.ts";
import { templateIdOfAlias } from "../../domain/template/templateAlias.ts";
import {
  comparableContent,
  type VersionContent,
  versionIdOfContent,
} from "../../domain/template/versionContent.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { Dependencies } from "../dependencies.ts";
import { readVersionSource } from "./compiledTemplateCache.ts";
import type { NewVersion } from "./manageTemplates.ts";

/** A template to push, checked. */
export interface TemplateToPush {
  readonly alias: string;
  readonly name: string;
  readonly version: NewVersion;
}

export interface PushOptions {
  /** Whether to publish the version; otherwise it stays a draft. */
  readonly isPublished: boolean;
  /** Only decides, and writes nothing. */
  readonly isDryRun: boolean;
  /** Returns how many templates the workspace has; only asked if there is none with this alias. */
  readonly count: () => Promise<number>;
}

export type PushOutcome = ReturnType<typeof decidePush>["outcome"];

/**
 * Makes the template of an alias what it is outside of the log, in one append. If it is that already, nothing is written;
 * content that an earlier version has is published again. Throws `StoreError`.
 */
export async function pushTemplate(
  deps: Dependencies,
  { alias, name, version }: TemplateToPush,
  { isPublished, isDryRun, count }: PushOptions,
  context: WorkspaceCommandContext,
): Promise<PushOutcome> {
  const { workspaceId } = context;
  const templateId = templateIdOfAlias(workspaceId, alias);
  const decide = async (state: TemplateState) => {
    const template = templateIn(state, workspaceId);
    const versionId = await versionIdOf(deps, templateId, template, version);
    const draft = { versionId, ...version, variables: [...version.variables] };
    const pushed = { workspaceId, alias, name, draft, isPublished, at: rfc3339(context.at) };
    return decidePush(state, pushed, template === null ? await count() : 0);
  };
  if (!isDryRun) return deps.templates.transact(templateId, decide, context);
  return (await decide(await deps.templates.get(templateId))).outcome;
}

/** The id of the published version if it has this content, whoever drafted it. */
async function versionIdOf(
  { store }: Dependencies,
  templateId: string,
  template: Template | null,
  content: VersionContent,
): Promise<string> {
  const current = template && findVersion(template, template.currentVersionId ?? "");
  const source = current && (await readVersionSource(store, templateId, current));
  const isCurrent = source !== null && comparableContent(source) === comparableContent(content);
  return current && isCurrent ? current.id : versionIdOfContent(templateId, content);
}
