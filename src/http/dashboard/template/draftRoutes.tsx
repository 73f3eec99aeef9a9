/** @jsxImportSource hono/jsx */
import type { Dependencies } from "../../../commands/dependencies.ts";
import type { CompileResult, TemplateEngine } from "../../../ports/templateEngine.ts";
import { TEMPLATE_BODY_BYTES_MAX } from "../../body/bodyLimits.ts";
import { draftOrRefuse, existingVersion } from "../../template/templateHandlers.ts";
import { sandboxedHtmlResponse } from "../components/sandboxedHtmlResponse.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { type DraftFields, draftFields, fieldsOfSource, withAnotherRow, withRowsFor } from "./draftForm.ts";
import { ANOTHER_ROW, DraftEditor, LivePreview, ROWS_FIELD } from "./draftPage.tsx";
import { checkedDraft, type DraftPreview, faultsOf, previewDraft, undeclaredNames } from "./draftPreview.ts";
import { templateLocationOf, templateOf } from "./templateRoutes.tsx";

const scope = "template:manage";
/** A form takes three bytes for what may be one in JSON. */
const FORM_BYTES_MAX = 3 * TEMPLATE_BODY_BYTES_MAX;

/** Drafting a version: the editor and its live preview. */
export function draftRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  const postDraft = (path: string, answer: DashboardRoute["answer"]): DashboardRoute => ({
    ...post(path, scope, answer),
    formBytesMax: FORM_BYTES_MAX,
  });
  return [
    get("/templates/:id/draft", scope, async (context) => {
      const fields = await startingFields(deps, context);
      const isEmpty = fields.subject === "" && fields.html === "" && fields.text === "";
      const preview = isEmpty ? null : await previewDraft(deps, fields, context.commandContext());
      return editorPage(deps, context, { fields, preview });
    }),
    postDraft("/templates/:id/draft", (context) => saveDraft(forOneRequest(deps), context)),
    postDraft("/templates/:id/draft/preview", async (context) => {
      const once = forOneRequest(deps);
      const asked = context.form.get(ROWS_FIELD);
      const fields = await withRowsAsked(once, context, { fields: draftFields(context.form), asked });
      const preview = await previewDraft(once, fields, context.commandContext());
      const editing = { fields, preview, hasNewRow: asked === ANOTHER_ROW };
      if (!context.request.headers.has("hx-request")) return editorPage(deps, context, editing);
      const before = context.form.get("samples_of") ?? "";
      return {
        title: "Preview",
        body: <LivePreview context={context} {...editing} before={before} hasRows={asked !== null} />,
      };
    }),
    postDraft("/templates/:id/draft/frame", async (context) => {
      const { output } = await previewDraft(deps, draftFields(context.form), context.commandContext());
      return sandboxedHtmlResponse(output?.html ?? "");
    }),
  ];
}

/** With an engine that compiles a source once: a request needs it to check a draft, and to find its variables. */
function forOneRequest(deps: Dependencies): Dependencies {
  const compiled = new Map<string, CompileResult>();
  const compile: TemplateEngine["compile"] = (source, kind) =>
    compiled.getOrInsertComputed(`${kind} ${source}`, () => deps.templateEngine.compile(source, kind));
  return { ...deps, templateEngine: { compile } };
}

/** The fields with the rows that a button has asked for; while somebody types, no button has. */
async function withRowsAsked(
  deps: Dependencies,
  context: PageContext,
  { fields, asked }: { readonly fields: DraftFields; readonly asked: string | null },
): Promise<DraftFields> {
  if (asked === ANOTHER_ROW) return withAnotherRow(fields);
  return asked === null
    ? fields
    : withRowsFor(fields, await undeclaredNames(deps, fields, context.commandContext())).fields;
}

/** The editor's initial fields: those of the named version, else of the newest. */
async function startingFields(deps: Dependencies, context: PageContext): Promise<DraftFields> {
  const { location, template } = await templateOf(deps, context);
  const from = context.query.get("from") ?? template.versions.at(-1)?.id;
  return fieldsOfSource(from === undefined ? null : (await existingVersion(deps, location, from)).source);
}

interface Editing {
  readonly fields: DraftFields;
  /** Null before there is anything to see. */
  readonly preview: DraftPreview | null;
  /** Whether a row was added, to be filled next. */
  readonly hasNewRow?: boolean;
  /** The names for which rows were added instead of saving. */
  readonly added?: readonly string[];
}

async function editorPage(deps: Dependencies, context: PageContext, editing: Editing): Promise<Page> {
  const { template, at, above } = await templateOf(deps, context);
  return {
    title: `New draft of ${template.name}`,
    above,
    isWide: true,
    body: <DraftEditor context={context} at={at} {...editing} />,
  };
}

async function saveDraft(deps: Dependencies, context: PageContext): Promise<Page | Response> {
  const location = templateLocationOf(context);
  const given = draftFields(context.form);
  try {
    const versionId = await draftOrRefuse(deps, location, checkedDraft(given), context.commandContext());
    return context.seeOther(
      `/templates/${location.templateId}/versions/${versionId}`,
      "The version was drafted. Publish it to use it in sends.",
    );
  } catch (error) {
    const faults = faultsOf(given, error);
    const undeclared = await undeclaredNames(deps, given, context.commandContext());
    const { fields, added } = withRowsFor(given, undeclared);
    // The added rows declare what was undeclared, so those faults are gone: the preview has the others.
    const preview =
      added.length > 0
        ? await previewDraft(deps, fields, context.commandContext())
        : { output: null, faults, variables: null };
    return { ...(await editorPage(deps, context, { fields, preview, added })), status: 422 };
  }
}
