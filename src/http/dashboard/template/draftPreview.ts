import { compileVersion, type TemplateTools } from "../../../commands/template/compiledTemplateCache.ts";
import { renderVersion } from "../../../commands/template/renderForSend.ts";
import type { StepOwner } from "../../../commands/template/templateScheduler.ts";
import type { VariableDefinition } from "../../../domain/template/variables.ts";
import { nearestName } from "../../../kernel/text/nearestName.ts";
import { checkBy } from "../../body/validation.ts";
import { Problem } from "../../server/problem.ts";
import { DraftVersionBody, draftRequest } from "../../template/draftVersionRequest.ts";
import { PreviewBody } from "../../template/templateOperations.ts";
import { type DraftFields, draftBody, type FieldFaults, fieldFaults, NO_FAULTS } from "./draftForm.ts";
import { sampleValues } from "./sampleValues.ts";

const checkDraft = checkBy(DraftVersionBody);
const checkPreview = checkBy(PreviewBody);

/** A draft rendered with its samples. */
export interface DraftPreview {
  /** Null if it has faults. */
  readonly output: {
    readonly subject: string;
    readonly html: string | null;
    readonly text: string | null;
  } | null;
  readonly faults: FieldFaults;
  /** The variables that need samples; null while the definitions are wrong. */
  readonly variables: readonly VariableDefinition[] | null;
}

/** The body of a draft as the API accepts it. Throws a problem that names all faults. */
export function checkedDraft(fields: DraftFields): DraftVersionBody {
  const body = draftBody(fields);
  checkDraft(body);
  return body as DraftVersionBody;
}

/** Renders a draft with the engine, checks and limits of the API's own preview. */
export async function previewDraft(
  tools: TemplateTools,
  fields: DraftFields,
  owner: StepOwner,
): Promise<DraftPreview> {
  try {
    const { draft, compiled } = await draftRequest(tools, checkedDraft(fields), owner);
    const variables = [...draft.variables];
    const values = sampleValues(variables, fields.samples);
    checkPreview({ variables: values });
    const result = await renderVersion(tools, compiled, values, owner);
    if (result.kind === "invalidData")
      return { output: null, faults: fieldFaults(fields, result.faults), variables };
    const { subject, html = null, text = null } = result;
    return { output: { subject, html, text }, faults: NO_FAULTS, variables };
  } catch (error) {
    return { output: null, faults: faultsOf(fields, error), variables: null };
  }
}

/** The names that a draft uses and does not declare, without those that look like a declared one misspelt. */
export async function undeclaredNames(
  tools: TemplateTools,
  fields: DraftFields,
  owner: StepOwner,
): Promise<readonly string[]> {
  const { subject, html, text, variables } = fields;
  const declared = variables.map(({ name }) => name).filter((name) => name !== "");
  const compiled = await compileVersion(tools, { subject, html, text, variables: [] }, owner);
  const used = [compiled.subject, compiled.html, compiled.text].flatMap((part) =>
    part?.kind === "compiled" ? part.template.variables().map(({ name }) => name) : [],
  );
  return [...new Set(used)].filter(
    (name) => !declared.includes(name) && nearestName(name, declared) === null,
  );
}

/** The faults in a refusal. Rethrows an error without faults. */
export function faultsOf(fields: DraftFields, error: unknown): FieldFaults {
  const faults = error instanceof Problem ? (error.options.errors ?? []) : [];
  if (faults.length === 0) throw error;
  return fieldFaults(fields, faults);
}
