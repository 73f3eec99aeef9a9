import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { Dependencies } from "../dependencies.ts";
import { type PushOptions, type PushOutcome, pushTemplate, type TemplateToPush } from "./pushTemplate.ts";

export type PushedTemplate = Exclude<PushOutcome, string> & { readonly alias: string };

/** A template that is not pushed, and why. A `StoreError` may have come after its append. */
export interface UnpushedTemplate {
  readonly alias: string;
  readonly reason: Extract<PushOutcome, string> | StoreError | "notTried";
}

export interface PushedTemplates {
  readonly pushed: readonly PushedTemplate[];
  readonly unpushed: readonly UnpushedTemplate[];
}

interface PushAllOptions extends Omit<PushOptions, "count"> {
  /** Counts the templates that the workspace had before. */
  readonly existing: () => Promise<number>;
}

/** Pushes one template after the other. Goes on after a refusal, but not once the store has failed. */
export async function pushTemplates(
  deps: Dependencies,
  templates: readonly TemplateToPush[],
  { existing, ...options }: PushAllOptions,
  context: WorkspaceCommandContext,
): Promise<PushedTemplates> {
  const pushed: PushedTemplate[] = [];
  const unpushed: UnpushedTemplate[] = [];
  const isCreated = ({ changes }: PushedTemplate) => changes.includes("TemplateCreated");
  const count = async () => (await existing()) + pushed.filter(isCreated).length;
  for (const template of templates) {
    const { alias } = template;
    const outcome = unpushed.some(({ reason }) => reason instanceof StoreError)
      ? "notTried"
      : await pushTemplate(deps, template, { ...options, count }, context).catch(storeErrorIn);
    if (typeof outcome === "string" || outcome instanceof StoreError)
      unpushed.push({ alias, reason: outcome });
    else pushed.push({ alias, ...outcome });
  }
  return { pushed, unpushed };
}

function storeErrorIn(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  throw error;
}
