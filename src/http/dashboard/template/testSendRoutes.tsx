/** @jsxImportSource hono/jsx */

import type { Dependencies } from "../../../commands/dependencies.ts";
import { sendEmail } from "../../../commands/email/send/sendEmail.ts";
import { compileVersion } from "../../../commands/template/compiledTemplateCache.ts";
import type { TemplateLocation, VersionView } from "../../../commands/template/readTemplate.ts";
import { renderVersion } from "../../../commands/template/renderForSend.ts";
import { isUuid, newId } from "../../../kernel/ids.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { checkBy } from "../../body/validation.ts";
import { SendEmailBody, sendRequest } from "../../email/sendEmailRequest.ts";
import { requireSender } from "../../server/authorization.ts";
import { Problem, refusedFor } from "../../server/problem.ts";
import { existingTemplate, existingVersion } from "../../template/templateHandlers.ts";
import { EntryForm, Field } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { refusalText } from "../email/sendAgain.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { sentence } from "../frame/formFaults.ts";
import { draftFields, type FieldFaults, fieldFaults, NO_FAULTS } from "./draftForm.ts";
import { SampleField } from "./draftPage.tsx";
import { sampleValues } from "./sampleValues.ts";
import { templateLocationOf } from "./templateRoutes.tsx";
import { aboveVersions } from "./versionRoutes.tsx";

const scope = "email:send";
const checkSend = checkBy(SendEmailBody);

/** Sends a version, draft or published, to somebody for review. */
export function testSendRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  const path = "/templates/:id/versions/:version/test-send";
  return [
    get(path, scope, (context) => testSendPage(deps, context, NO_FAULTS)),
    post(path, scope, (context) => testSend(deps, context)),
  ];
}

/** The version of a form. Its content is for keys that may see templates. */
async function versionOf(deps: Dependencies, context: PageContext): Promise<VersionView> {
  if (!context.may("template:manage"))
    throw new Problem("FORBIDDEN", { detail: "this needs a key with the scope template:manage" });
  return existingVersion(deps, templateLocationOf(context), context.params.version ?? "");
}

async function testSendPage(deps: Dependencies, context: PageContext, faults: FieldFaults): Promise<Page> {
  const location = templateLocationOf(context);
  const { version, source } = await versionOf(deps, context);
  const template = await existingTemplate(deps, location);
  const at = `/templates/${location.templateId}/versions/${version.id}`;
  const { samples } = draftFields(context.form);
  return {
    title: `Test send of version ${version.number}`,
    above: aboveVersions(location.templateId, template),
    ...(faults.size === 0 ? {} : { status: 422 }),
    body: (
      <>
        <Heading title={`Test send of version ${version.number}`} />
        <p>
          It is a message like any other: it counts, it is logged, and a suppressed recipient does not get it.
        </p>
        <EntryForm
          context={context}
          action={`${at}/test-send`}
          refusal={faults.get("draft")}
          verb="Send it"
          cancelTo={at}
        >
          <input type="hidden" name="nonce" value={context.form.get("nonce") ?? newId()} />
          <Field
            name="from"
            label="From"
            type="email"
            value={fieldOf(context.form, "from")}
            hint="An active sender of this workspace, or an address of one of its domains."
            fault={faults.get("from")}
            isRequired
          />
          <Field
            name="to"
            label="To"
            type="email"
            value={fieldOf(context.form, "to")}
            fault={faults.get("to")}
            isRequired
          />
          {source.variables.map((definition) => (
            <SampleField definition={definition} samples={samples} faults={faults} />
          ))}
        </EntryForm>
      </>
    ),
  };
}

async function testSend(deps: Dependencies, context: PageContext): Promise<Page | Response> {
  const { form } = context;
  const nonce = form.get("nonce") ?? "";
  if (!isUuid(nonce))
    throw new Problem("INVALID_REQUEST", { detail: "the form is incomplete: reload the page" });
  const view = await versionOf(deps, context);
  const body = sendBody(deps, templateLocationOf(context), view, form);
  if (body instanceof Map) return testSendPage(deps, context, body);
  const commandContext = context.commandContext();
  const { workspaceId } = commandContext;
  try {
    checkSend(body);
    const send = sendRequest(body as SendEmailBody);
    requireSender(context.principal, (body as SendEmailBody).from);
    const idempotencyKey = `test:${view.version.id}:${nonce}`;
    const outcome = await sendEmail(deps, { ...send, workspaceId, idempotencyKey, context: commandContext });
    if (outcome.kind === "accepted")
      return context.seeOther(`/messages/${outcome.receipt.id}`, "This is the test message.");
    if (outcome.kind === "refused" && outcome.faults.length > 0)
      throw refusedFor(outcome.code, outcome.faults);
    return testSendPage(deps, context, new Map([["draft", refusalText(outcome)]]));
  } catch (error) {
    const faults = error instanceof Problem ? (error.options.errors ?? []) : [];
    if (faults.length === 0) throw error;
    return testSendPage(deps, context, sendFaults(faults));
  }
}

/** The body of the send: a published version by its ids; a draft, which no send can name, as rendered. */
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
  if (output.kind === "invalidData") return sendFaults(output.faults);
  const { subject, html, text } = output;
  return { ...addresses, subject, ...omitUndefined({ html, text }) };
}

/** Assigns the faults of a send to the fields of the form. */
function sendFaults(faults: Parameters<typeof fieldFaults>[1]): FieldFaults {
  const isAddress = (pointer: string) => pointer === "/from" || pointer === "/to";
  const addresses = faults.flatMap(({ pointer, message }) =>
    isAddress(pointer) ? [[pointer.slice(1), sentence(message)] as const] : [],
  );
  const others = faults.filter(({ pointer }) => !isAddress(pointer));
  return new Map([...fieldFaults({ variables: [] }, others), ...addresses]);
}
