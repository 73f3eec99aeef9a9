import {
  HTML_CHARACTERS_MAX,
  SUBJECT_CHARACTERS_MAX,
  TEXT_CHARACTERS_MAX,
} from "../../domain/email/contentLimits.ts";
import { type TemplateFault, templateFault, versionForSend } from "../../domain/template/state.ts";
import { templateIdOfAlias } from "../../domain/template/templateAlias.ts";
import { fillVariables } from "../../domain/template/variables.ts";
import { isHeaderSafe } from "../../kernel/text/isHeaderSafe.ts";
import { codePoints } from "../../kernel/text/textLength.ts";
import type { CompileResult } from "../../ports/templateEngine.ts";
import type { Dependencies } from "../dependencies.ts";
import type { CompiledVersion } from "./compiledTemplateCache.ts";
import type { StepOwner } from "./templateScheduler.ts";

/** A template by its id or by its alias. */
export type RequestedTemplate = ({ readonly id: string } | { readonly alias: string }) & {
  /** Null: the version published last. */
  readonly versionId: string | null;
};

/** The template that a send names, and its variables. */
interface TemplateRequest {
  readonly owner: StepOwner;
  readonly template: RequestedTemplate;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** One wrong value, usually a variable. `pointer` is a JSON Pointer (RFC 6901) into the request's body. */
interface TemplateDataFault {
  readonly pointer: string;
  readonly message: string;
}

/** A message's parts, within the limits. */
interface Rendered {
  readonly kind: "rendered";
  readonly subject: string;
  readonly html?: string;
  readonly text?: string;
}

/** The result of rendering a version: a message's parts, or everything that is wrong. */
type VersionOutput =
  | Rendered
  | { readonly kind: "invalidData"; readonly faults: readonly TemplateDataFault[] };

type RenderOutcome =
  | (Rendered & { readonly template: { readonly id: string; readonly versionId: string } })
  | { readonly kind: "unavailable"; readonly fault: TemplateDataFault }
  | Exclude<VersionOutput, Rendered>;

/** What is wrong with a template, and what to do about it. Templates of other workspaces count as unknown. */
const FAULTS: Readonly<Record<TemplateFault, string>> = {
  unknown: "is not a template of this workspace",
  archived: "is archived, for good: send with another template",
  unpublished:
    "has no published version: publish one (POST /api/v1/templates/{id}/versions/{version_id}/publish)",
  unknownVersion: "is not a version of this template",
  draftVersion: "is a draft: publish it (POST /api/v1/templates/{id}/versions/{version_id}/publish)",
};

function unavailable(template: RequestedTemplate, fault: TemplateFault): RenderOutcome {
  const ofTemplate = "alias" in template ? "/template_alias" : "/template_id";
  const isOfVersion = fault === "unknownVersion" || fault === "draftVersion";
  const pointer = isOfVersion ? "/template_version_id" : ofTemplate;
  return { kind: "unavailable", fault: { pointer, message: FAULTS[fault] } };
}

/**
 * Renders a send's template at acceptance, so an accepted message can always be built. Throws `StoreError`, and as
 * `TemplateScheduler` does.
 */
export async function renderForSend(deps: Dependencies, request: TemplateRequest): Promise<RenderOutcome> {
  const { owner, template, variables } = request;
  const { workspaceId } = owner;
  const id = "alias" in template ? templateIdOfAlias(workspaceId, template.alias) : template.id;
  const state = await deps.templates.get(id);
  const version = versionForSend(state, workspaceId, template.versionId);
  if (version === null) return unavailable(template, templateFault(state, workspaceId, template.versionId));
  const compiled = await deps.compiled.get(id, version, owner);
  if (compiled === null) return unavailable(template, "unknown");
  const output = await renderVersion(deps, compiled, variables, owner);
  return output.kind === "rendered" ? { ...output, template: { id, versionId: version.id } } : output;
}

/** Checks the variables, renders each part when it is its turn, and checks the output. Throws as `TemplateScheduler`. */
export async function renderVersion(
  { templateScheduler }: Pick<Dependencies, "templateScheduler">,
  version: CompiledVersion,
  given: Readonly<Record<string, unknown>>,
  owner: StepOwner,
): Promise<VersionOutput> {
  const filled = fillVariables(version.variables, given);
  if (filled.kind === "wrong") {
    return {
      kind: "invalidData",
      faults: filled.faults.map(({ name, message }) => ({ pointer: pointerTo(name), message })),
    };
  }
  const faults: TemplateDataFault[] = [];
  const render = async (part: string, compiled: CompileResult | null): Promise<string> => {
    if (compiled === null) return "";
    const result = await templateScheduler.run(owner, () => renderPart(compiled, filled.values));
    if (result.kind === "rendered") return result.output;
    faults.push({ pointer: "/variables", message: `the template's ${part} ${result.reason}` });
    return "";
  };
  const subject = await render("subject", version.subject);
  const html = await render("html", version.html);
  const text = await render("text", version.text);
  if (faults.length === 0) faults.push(...outputFaults(subject, html, text));
  if (faults.length > 0) return { kind: "invalidData", faults };
  return { kind: "rendered", subject, ...(html ? { html } : {}), ...(text ? { text } : {}) };
}

function renderPart(compiled: CompileResult, values: Readonly<Record<string, unknown>>) {
  if (compiled.kind === "invalid") return { kind: "failed" as const, reason: compiled.reason };
  return compiled.template.render(values);
}

/** Names are letters, digits and underscores, so nothing in them needs an escape (RFC 6901 §3). */
function pointerTo(name: string): string {
  return `/variables/${name}`;
}

function outputFaults(subject: string, html: string, text: string): readonly TemplateDataFault[] {
  const faults: TemplateDataFault[] = [];
  const check = (isSound: boolean, pointer: string, message: string) => {
    if (!isSound) faults.push({ pointer, message });
  };
  check(subject !== "", "/subject", "is empty once it is rendered");
  check(
    isHeaderSafe(subject),
    "/subject",
    "has a line break or another control character once it is rendered",
  );
  check(isWithin(subject, SUBJECT_CHARACTERS_MAX), "/subject", tooLong(SUBJECT_CHARACTERS_MAX));
  check(html !== "" || text !== "", "/html", "and text are empty once they are rendered");
  check(isWithin(html, HTML_CHARACTERS_MAX), "/html", tooLong(HTML_CHARACTERS_MAX));
  check(isWithin(text, TEXT_CHARACTERS_MAX), "/text", tooLong(TEXT_CHARACTERS_MAX));
  return faults;
}

function isWithin(text: string, charactersMax: number): boolean {
  return text.length <= charactersMax || codePoints(text) <= charactersMax;
}

function tooLong(charactersMax: number): string {
  return `is longer than ${charactersMax} characters once it is rendered`;
}
