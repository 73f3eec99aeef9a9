/** @jsxImportSource hono/jsx */

import type { Dependencies } from "../../../commands/dependencies.ts";
import { compileVersion } from "../../../commands/template/compiledTemplateCache.ts";
import type { TemplateLocation, VersionView } from "../../../commands/template/readTemplate.ts";
import { renderVersion } from "../../../commands/template/renderForSend.ts";
import { newId } from "../../../kernel/ids.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { Problem, refusedFor } from "../../server/problem.ts";
import { existingTemplate, existingVersion } from "../../template/templateHandlers.ts";
import { EntryForm, Field } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { SendFormState } from "../newEmail/sendFormState.tsx";
import { mailSwitchRefusal, nonceOf, sendFromForm, toAcceptedMessage } from "../newEmail/sendFromForm.ts";
import { usableAddresses } from "../sender/usableAddresses.ts";
import { draftFields, SAMPLE_PREFIX } from "./draftForm.ts";
import { SampleField } from "./draftPage.tsx";
import { sampleValues } from "./sampleValues.ts";
import { templateLocationOf } from "./templateRoutes.tsx";
import { aboveVersions } from "./versionRoutes.tsx";

const scope = "email:send";

/** Sends a version, draft or published, to somebody for review. */
export function testSendRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const path = "/templates/:id/versions/:version/test-send";
  return [
    get(path, scope, (context) => testSendPage(options, context, { nonce: newId(), faults: null })),
    post(path, scope, (context) => testSend(options, context)),
  ];
}

interface TestSendForm {
  readonly nonce: string;
  /** Null if it was not submitted yet. */
  readonly faults: FormFaults | null;
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
  { nonce, faults }: TestSendForm,
): Promise<Page> {
  const { deps } = options;
  const addresses = await usableAddresses(options, context);
  const location = templateLocationOf(context);
  const { version, source } = await versionOf(deps, context);
  const template = await existingTemplate(deps, location);
  const at = `/templates/${location.templateId}/versions/${version.id}`;
  const { samples } = draftFields(context.form);
  const fieldFaults = new Map(Object.entries(faults?.fields ?? {}));
  return {
    title: `Test send of version ${version.number}`,
    above: aboveVersions(location.templateId, template),
    ...(faults === null ? {} : { status: faults.status }),
    body: (
      <>
        <Heading title={`Test send of version ${version.number}`} />
        <p>
          It is a message like any other: it counts, it is logged, and a suppressed recipient does not get it.
        </p>
        <EntryForm
          context={context}
          action={`${at}/test-send`}
          refusal={faults?.whole}
          verb="Send it"
          cancelTo={at}
        >
          <SendFormState context={context} nonce={nonce} />
          <Field
            name="from"
            label="From"
            type="email"
            value={context.form.has("from") ? fieldOf(context.form, "from") : (addresses[0] ?? "")}
            suggestions={addresses}
            hint="A verified sender of this workspace, or an address of a verified domain."
            fault={fieldFaults.get("from")}
            isRequired
          />
          <Field
            name="to"
            label="To"
            type="email"
            value={fieldOf(context.form, "to")}
            fault={fieldFaults.get("to")}
            isRequired
          />
          {source.variables.map((definition) => (
            <SampleField definition={definition} samples={samples} faults={fieldFaults} />
          ))}
        </EntryForm>
      </>
    ),
  };
}

async function testSend(options: DashboardOptions, context: PageContext): Promise<Page | Response> {
  const { deps } = options;
  const switched = mailSwitchRefusal(context);
  if (switched !== null)
    return testSendPage(options, context, { nonce: switched.nonce, faults: formFaults(switched.problem) });
  const nonce = nonceOf(context);
  const view = await versionOf(deps, context);
  const location = templateLocationOf(context);
  const body = sendBody(deps, location, view, context.form);
  if (body instanceof Problem)
    return testSendPage(options, context, { nonce, faults: formFaults(body, formFieldOf) });
  const outcome = await sendFromForm(deps, context, { body, keyPrefix: `test:${view.version.id}:` });
  if (outcome.kind === "accepted")
    return toAcceptedMessage(
      context,
      outcome,
      `/templates/${location.templateId}/versions/${view.version.id}`,
    );
  const faults = formFaults(outcome.problem, formFieldOf);
  return testSendPage(options, context, { nonce: outcome.nonce, faults });
}

/**
 * The body of the send: a published version by its ids; a draft, which no send can name, as rendered. A `Problem` if the
 * values do not suit the draft.
 */
function sendBody(
  deps: Dependencies,
  { templateId }: TemplateLocation,
  { version, source }: VersionView,
  form: URLSearchParams,
): unknown {
  const addresses = { from: fieldOf(form, "from").trim(), to: fieldOf(form, "to").trim() };
  const variables = sampleValues(source.variables, draftFields(form).samples);
  if (version.publishedAt !== null)
    return { ...addresses, template_id: templateId, template_version_id: version.id, variables };
  const output = renderVersion(compileVersion(deps.templateEngine, source), variables);
  if (output.kind === "invalidData") return refusedFor("INVALID_TEMPLATE_DATA", output.faults);
  const { subject, html, text } = output;
  return { ...addresses, subject, ...omitUndefined({ html, text }) };
}

/** The form's field for a part of the API's body; null if the form has none. */
function formFieldOf(member: string, part: string): string | null {
  if (member === "variables" && part !== "") return SAMPLE_PREFIX + part;
  return member === "from" || member === "to" ? member : null;
}
