import { type CompiledVersion, compileVersion } from "../../commands/template/compiledTemplateCache.ts";
import type { NewVersion } from "../../commands/template/manageTemplates.ts";
import { VERSION_BYTES_MAX } from "../../domain/template/decisions.ts";
import { typeFault, type VariableDefinition } from "../../domain/template/variables.ts";
import { nearestName } from "../../kernel/text/nearestName.ts";
import { excerpt, isHeaderSafe } from "../../kernel/text/text.ts";
import type { TemplateEngine, UsedVariable } from "../../ports/templateEngine.ts";
import { ERRORS_MAX, type ProblemDetail, refusedFor } from "../server/problem.ts";
import type { DraftVersionBody } from "./templateSchemas.ts";

/** Words of Liquid: a variable of such a name could not be reached. */
const RESERVED = new Set(
  "and blank contains empty false forloop in nil not null or tablerowloop true".split(" "),
);

/** A declared name is not longer. */
const NAME_SHOWN_UNITS_MAX = 80;

/** A draft's parts, sound and within their bounds. Throws the problem that names all that is wrong with them. */
export function draftRequest(engine: TemplateEngine, body: DraftVersionBody): NewVersion {
  // "" counts as absent, as it does in a send.
  const parts = { subject: body.subject, html: body.html || null, text: body.text || null };
  const variables = definitionsOf(body.variables ?? []);
  const source = { ...parts, variables: variables.definitions };
  const bytes = bytesOf(source);
  const errors = [
    ...partFaults(parts),
    ...variables.faults,
    ...sizeFaults(bytes),
    ...liquidFaults(compileVersion(engine, source)),
  ];
  if (errors.length > 0) throw refusedFor("INVALID_REQUEST", errors);
  return { ...source, bytes: sum(bytes) };
}

type Source = Omit<NewVersion, "bytes">;

function partFaults({ subject, html, text }: Omit<Source, "variables">): readonly ProblemDetail[] {
  return [
    ...(isHeaderSafe(subject)
      ? []
      : [{ pointer: "/subject", message: "must not contain a line break or NUL" }]),
    ...(html === null && text === null
      ? [{ pointer: "/html", message: "is required, unless text is given" }]
      : []),
  ];
}

function definitionsOf(given: NonNullable<DraftVersionBody["variables"]>) {
  const names = new Set<string>();
  const faults: ProblemDetail[] = [];
  const definitions = given.map(({ name, type, required = false, default: fallback }, index) => {
    const refuse = (member: string, message: string) =>
      faults.push({ pointer: `/variables/${index}/${member}`, message });
    if (names.has(name)) refuse("name", "is the name of another variable");
    if (RESERVED.has(name)) refuse("name", "is a word of Liquid");
    names.add(name);
    if (fallback === undefined) return { name, type, required };
    if (required) refuse("default", "is never used, because the variable is required");
    const fault = typeFault(type, fallback);
    if (fault !== null) refuse("default", fault);
    return { name, type, required, default: fallback };
  });
  return { definitions: definitions satisfies readonly VariableDefinition[], faults };
}

type Sizes = readonly (readonly [part: string, bytes: number])[];

function bytesOf(source: Source): Sizes {
  return Object.entries(source).map(([part, value]) => [part, Buffer.byteLength(JSON.stringify(value))]);
}

function sum(sizes: Sizes): number {
  return sizes.reduce((total, [, bytes]) => total + bytes, 0);
}

/** The largest part is told. */
function sizeFaults(sizes: Sizes): readonly ProblemDetail[] {
  if (sum(sizes) <= VERSION_BYTES_MAX) return [];
  const [largest = ""] = sizes.toSorted(([, one], [, other]) => other - one)[0] ?? [];
  const message = `takes the version over ${VERSION_BYTES_MAX} bytes when encoded`;
  return [{ pointer: `/${largest}`, message }];
}

/** Parts that cannot be understood, and variables that they use and nobody has declared: mostly misspelt names. */
function liquidFaults(compiled: CompiledVersion): readonly ProblemDetail[] {
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
