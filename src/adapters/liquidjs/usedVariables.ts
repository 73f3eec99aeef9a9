import { analyzeSync, type Template } from "liquidjs";
import type { UsedVariable } from "../../ports/templateEngine.ts";

/** The keyword after `offset:` of a loop, which liquidjs takes for a variable. */
const CONTINUE = "continue";

/** The variables that a parsed template reads but does not define itself, each with the line of its first use. */
export function usedVariables(templates: Template[]): readonly UsedVariable[] {
  const { globals, locals } = analyzeSync(templates, { partials: false });
  // One round of a loop may read what the previous round assigned further down.
  const made = new Set([...Object.values(locals).map(([variable]) => variable?.segments[0]), CONTINUE]);
  return Object.values(globals).flatMap(([first]) => {
    const [name] = first?.segments ?? [];
    if (first === undefined || typeof name !== "string" || made.has(name)) return [];
    return [{ name, line: first.location.row }];
  });
}
