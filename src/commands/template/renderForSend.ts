import {
  HTML_CHARACTERS_MAX,
  SUBJECT_CHARACTERS_MAX,
  TEXT_CHARACTERS_MAX,
} from "../../domain/email/contentLimits.ts";
import { type TemplateFault, templateFault, versionForSend } from "../../domain/template/state.ts";
import { fillVariables } from "../../domain/template/variables.ts";
import { isHeaderSafe } from "../../kernel/text/isHeaderSafe.ts";
import { codePoints } from "../../kernel/text/textLength.ts";
import type { CompileResult } from "../../ports/templateEngine.ts";
import type { Dependencies } from "../dependencies.ts";
import type { CompiledVersion } from "./compiledTemplateCache.ts";
import type { StepOwner } from "./templateScheduler.ts";

/** The template that a send names, and its variables. */
interface TemplateRequest {
  readonly owner: StepOwner;
  readonly templateId: string;
  /** Null: the current published version. */
  readonly versionId: string | null;
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
  | (Rendered & { readonly versionId: string })
  | { readonly kind: "unavailable"; readonly fault: TemplateDataFault }
  | Exclude<VersionOutput, Rendered>;

/** What is wrong with a template, and what to do about it. Templates of other workspaces count as unknown. */
const FAULTS: Readonly<Record<TemplateFault, TemplateDataFault>> = {
  unknown: { pointer: "/template_id", message: "is not a template of this workspace" },
  archived: { pointer: "/template_id", message: "is archived, for good: send with another template" },
  unpublished: {
    pointer: "/template_id",
    message:
      "has no published version: publish one (POST /api/v1/templates/{id}/versions/{version_id}/publish)",
  },
  unknownVersion: { pointer: "/template_version_id", message: "is not a version of this template" },
  draftVersion: {
    pointer: "/template_version_id",
    message: "is a draft: publish it (POST /api/v1/templates/{id}/versions/{version_id}/publish)",
  },
};

/**
 * Renders a send's template at acceptance, so an accepted message can always be built. Throws `StoreError`, and as
 * `TemplateScheduler` does.
 */
export async function renderForSend(deps: Dependencies, request: TemplateRequest): Promise<RenderOutcome> {
  const { owner, templateId, versionId, variables } = request;
  const { workspaceId } = owner;
  const template = await deps.templates.get(templateId);
  const version = versionForSend(template, workspaceId, versionId);
  if (version === null) {
    return { kind: "unavailable", fault: FAULTS[templateFault(template, workspaceId, versionId)] };
  }
  const compiled = await deps.compiled.get(templateId, version, owner);
  if (compiled === null) return { kind: "unavailable", fault: FAULTS.unknown };
  const output = await renderVersion(deps, compiled, variables, owner);
  return output.kind === "rendered" ? { ...output, versionId: version.id } : output;
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
