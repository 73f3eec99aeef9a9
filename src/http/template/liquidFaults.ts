import type { Dependencies } from "../../commands/dependencies.ts";
import type { CompiledVersion } from "../../commands/template/compiledTemplateCache.ts";
import type { StepOwner } from "../../commands/template/templateScheduler.ts";
import { nearestName } from "../../kernel/text/nearestName.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import type { CompileResult, UsedVariable } from "../../ports/templateEngine.ts";
import { ERRORS_MAX, type ProblemDetail } from "../server/problem.ts";

/** No declared name is longer. */
const NAME_SHOWN_UNITS_MAX = 80;

/**
 * Parts that do not parse, and undeclared variables they use, which are mostly misspelt names. Throws as
 * `TemplateScheduler` does.
 */
export async function liquidFaults(
  { templateScheduler }: Pick<Dependencies, "templateScheduler">,
  compiled: CompiledVersion,
  owner: StepOwner,
): Promise<readonly ProblemDetail[]> {
  const declared = compiled.variables.map(({ name }) => name);
  const faults: ProblemDetail[] = [];
  for (const part of ["subject", "html", "text"] as const) {
    const result = compiled[part];
    if (result === null) continue;
    const messages = await templateScheduler.run(owner, () => messagesOf(result, declared));
    faults.push(...messages.map((message) => ({ pointer: `/${part}`, message })));
  }
  return faults;
}

function messagesOf(result: CompileResult, declared: readonly string[]): readonly string[] {
  if (result.kind === "invalid") return [result.reason];
  const known = new Set(declared);
  return result.template
    .variables()
    .filter(({ name }) => !known.has(name))
    .slice(0, ERRORS_MAX)
    .map((variable) => undeclared(variable, declared));
}

function undeclared({ name, line }: UsedVariable, declared: readonly string[]): string {
  const shown = excerpt(name, NAME_SHOWN_UNITS_MAX);
  const nearest = nearestName(shown, declared);
  const hint = nearest === null ? "declare it in variables" : `did you mean ${nearest}?`;
  return `uses ${shown} in line ${line}, which is not in variables: ${hint}`;
}
