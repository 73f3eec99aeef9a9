import { compileVersion } from "../commands/compiledVersions.ts";
import type { NewVersion } from "../commands/manageTemplates.ts";
import { VERSION_BYTES_MAX } from "../domain/template/decisions.ts";
import { typeFault, type VariableDefinition } from "../domain/template/variables.ts";
import { isHeaderSafe } from "../kernel/text.ts";
import type { TemplateEngine } from "../ports/templateEngine.ts";
import { invalid, type ProblemDetail, refusedFor } from "./problem.ts";
import type { DraftVersionBody } from "./templateSchemas.ts";

/** Words of Liquid: a variable of such a name could not be reached. */
const RESERVED = new Set(
  "and blank contains empty false forloop in nil not null or tablerowloop true".split(" "),
);

/** A draft's parts, sound and within their bounds. Throws the problem that names each part which is not. */
export function draftRequest(engine: TemplateEngine, body: DraftVersionBody): NewVersion {
  // "" counts as absent, as it does in a send.
  const parts = { subject: body.subject, html: body.html || null, text: body.text || null };
  if (!isHeaderSafe(parts.subject)) throw invalid("/subject", "must not contain a line break or NUL");
  if (parts.html === null && parts.text === null) throw invalid("/html", "or text is required");
  const source = { ...parts, variables: definitionsOf(body.variables ?? []) };
  const bytes = checkSize(source);
  checkLiquid(engine, source);
  return { ...source, bytes };
}

function definitionsOf(given: NonNullable<DraftVersionBody["variables"]>): readonly VariableDefinition[] {
  const names = new Set<string>();
  const errors: ProblemDetail[] = [];
  const definitions = given.map(({ name, type, required = false, default: fallback }, index) => {
    const refuse = (member: string, message: string) =>
      errors.push({ pointer: `/variables/${index}/${member}`, message });
    if (names.has(name)) refuse("name", "is the name of another variable");
    if (RESERVED.has(name)) refuse("name", "is a word of Liquid");
    names.add(name);
    if (fallback === undefined) return { name, type, required };
    if (required) refuse("default", "is never used, because the variable is required");
    const fault = typeFault(type, fallback);
    if (fault !== null) refuse("default", fault);
    return { name, type, required, default: fallback };
  });
  refuseAll(errors);
  return definitions;
}

function checkSize(source: Omit<NewVersion, "bytes">): number {
  const sizes = Object.entries(source).map(
    ([name, part]) => [name, Buffer.byteLength(JSON.stringify(part))] as const,
  );
  const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
  if (bytes <= VERSION_BYTES_MAX) return bytes;
  const [largest = ""] = sizes.toSorted(([, left], [, right]) => right - left)[0] ?? [];
  throw invalid(`/${largest}`, `takes the version over ${VERSION_BYTES_MAX} bytes when encoded`);
}

function checkLiquid(engine: TemplateEngine, source: Omit<NewVersion, "bytes">): void {
  const compiled = compileVersion(engine, { ...source, variables: [] });
  const errors: ProblemDetail[] = [];
  for (const part of ["subject", "html", "text"] as const) {
    const result = compiled[part];
    if (result?.kind === "invalid") errors.push({ pointer: `/${part}`, message: result.reason });
  }
  refuseAll(errors);
}

function refuseAll(errors: readonly ProblemDetail[]): void {
  if (errors.length > 0) throw refusedFor("INVALID_REQUEST", errors);
}
