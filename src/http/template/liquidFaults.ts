import type { CompiledVersion } from "../../commands/template/compiledTemplateCache.ts";
import { nearestName } from "../../kernel/text/nearestName.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import type { UsedVariable } from "../../ports/templateEngine.ts";
import { ERRORS_MAX, type ProblemDetail } from "../server/problem.ts";

/** No declared name is longer. */
const NAME_SHOWN_UNITS_MAX = 80;

/** Parts that do not parse, and undeclared variables they use, which are mostly misspelt names. */
export function liquidFaults(compiled: CompiledVersion): readonly ProblemDetail[] {
  const declared = compiled.variables.map(({ name }) => name);
  const known = new Set(declared);
  return (["subject", "html", "text"] as const).flatMap((part) => {
    const result = compiled[part];
    const pointer = `/${part}`;
    if (result === null) return [];
    if (result.kind === "invalid") return [{ pointer, message: result.reason }];
    return result.template
      .variables()
      .filter(({ name }) => !known.has(name))
      .slice(0, ERRORS_MAX)
      .map((variable) => ({ pointer, message: undeclared(variable, declared) }));
  });
}

function undeclared({ name, line }: UsedVariable, declared: readonly string[]): string {
  const shown = excerpt(name, NAME_SHOWN_UNITS_MAX);
  const nearest = nearestName(shown, declared);
  const hint = nearest === null ? "declare it in variables" : `did you mean ${nearest}?`;
  return `uses ${shown} in line ${line}, which is not in variables: ${hint}`;
}
