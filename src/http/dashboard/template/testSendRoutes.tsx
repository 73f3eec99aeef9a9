/** @jsxImportSource hono/jsx */

import type { Dependencies } from "../../../commands/dependencies.ts";
import { compileVersion } from "../../../commands/template/compiledTemplateCache.ts";
import type { TemplateLocation, VersionView } from "../../../commands/template/readTemplate.ts";
import { renderVersion } from "../../../commands/template/renderForSend.ts";
import { newId } from "../../../kernel/ids.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { Problem, refusedFor } from "../../server/problem.ts";
import { existingVersion } from "../../template/templateHandlers.ts";
import { Heading } from "../components/heading.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { SendForm } from "../newEmail/sendForm.tsx";
import { type SendFormState, sendFromForm } from "../newEmail/sendFromForm.ts";
import { usableSenders } from "../sender/usableSenders.ts";
import { draftFields, SAMPLE_PREFIX } from "./draftForm.ts";
import { SampleField } from "./draftPage.tsx";
import { sampleValues } from "./sampleValues.ts";
import { templateLocationOf, templateOf } from "./templateRoutes.tsx";

const scope = "email:send";

/** Sends a version, draft or published, to somebody for review. */
export function testSendRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const path = "/templates/:id/versions/:version/test-send";
  return [
    get(path, scope, (context) => testSendPage(options, context, { nonce: newId(), faults: null })),
    post(path, scope, (context) => testSend(options, context)),
  ];
}

/** The version of a form. Its content is for keys that may see templates. */
async function versionOf(deps: Dependencies, context: PageContext): Promise<VersionView> {
  if (!context.may("template:manage"))
    throw new Problem("FORBIDDEN", { detail: "this needs a key with the scope template:manage" });
  return existingVersion(deps, templateLocationOf(context), context.params.version ?? "");
}

async function testSendPage(
  options: DashboardOptions,
  context: PageContext,
  state: SendFormState,
): Promise<Page> {
  const { deps } = options;
  const senders = await usableSenders(options, context);
  const { version, source } = await versionOf(deps, context);
  const { at: templateAt, above } = await templateOf(deps, context);
  const at = `${templateAt}/versions/${version.id}`;
  const { samples } = draftFields(context.form);
  const fieldFaults = new Map(Object.entries(state.faults?.fields ?? {}));
  return {
    title: `Test send of version ${version.number}`,
    above,
    status: state.faults?.status,
    body: (
      <>
        <Heading title={`Test send of version ${version.number}`} />
        <SendForm context={context} action={`${at}/test-send`} cancelTo={at} senders={senders} state={state}>
          {source.variables.map((definition) => (
            <SampleField definition={definition} samples={samples} faults={fieldFaults} />
          ))}
        </SendForm>
      </>
    ),
  };
}

async function testSend(options: DashboardOptions, context: PageContext): Promise<Page | Response> {
  const { deps } = options;
  const view = await versionOf(deps, context);
  const location = templateLocationOf(context);
  return sendFromForm(deps, context, {
    body: () => sendBody(deps, location, view, context),
    keyPrefix: `test:${view.version.id}:`,
    fieldOf: formFieldOf,
    otherwiseTo: `/templates/${location.templateId}/versions/${view.version.id}`,
    again: (state) => testSendPage(options, context, state),
  });
}

/**
 * The body of the send: a published version by its ids; a draft, which no send can name, as rendered. Throws a
 * `Problem` if the values do not suit the draft.
 */
async function sendBody(
  deps: Dependencies,
  { templateId }: TemplateLocation,
  { version, source }: VersionView,
  context: PageContext,
): Promise<unknown> {
  const { form } = context;
  const owner = context.commandContext();
  const addresses = { from: fieldOf(form, "from"), to: fieldOf(form, "to") };
  const variables = sampleValues(source.variables, draftFields(form).samples);
  if (version.publishedAt !== null)
    return { ...addresses, template_id: templateId, template_version_id: version.id, variables };
  const output = await renderVersion(deps, await compileVersion(deps, source, owner), variables, owner);
  if (output.kind === "invalidData") throw refusedFor("INVALID_TEMPLATE_DATA", output.faults);
  const { subject, html, text } = output;
  return { ...addresses, subject, ...omitUndefined({ html, text }) };
}

/** The form's field for a part of the API's body; null if the form has none. */
function formFieldOf(member: string, part: string): string | null {
  if (member === "variables" && part !== "") return SAMPLE_PREFIX + part;
  return member === "from" || member === "to" ? member : null;
}
