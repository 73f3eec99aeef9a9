/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { listWebhookEndpoints, type WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import { ENDPOINTS_MAX } from "../../../domain/webhook/decisions.ts";
import { WEBHOOK_EVENT_TYPES } from "../../../domain/webhookEventTypes.ts";
import { checkBy } from "../../body/validation.ts";
import { Problem } from "../../server/problem.ts";
import { includableBy } from "../../webhook/includeScopes.ts";
import { caughtUpEndpoints } from "../../webhook/webhookEndpointHandlers.ts";
import { webhookEndpointOperations } from "../../webhook/webhookEndpointOperations.ts";
import { CheckBox, EntryForm, Field } from "../components/form.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { fieldOf, formFields } from "../frame/formBody.ts";

const { body: EndpointBody } = webhookEndpointOperations.registerWebhook;
const checkBody = checkBy(EndpointBody);

/** The input of a submitted form. Throws INVALID_REQUEST for what the API would refuse. */
export function checkedInput(form: URLSearchParams) {
  const chosen = [...new Set(form.getAll("event_types"))];
  const eventTypes = chosen.length === 0 ? null : chosen;
  const url = fieldOf(form, "url");
  const description = fieldOf(form, "description") || null;
  const include = [...new Set(form.getAll("include"))];
  const body = { url, description, event_types: eventTypes, include };
  checkBody(body);
  return { url, description, eventTypes, include };
}

/** Faults by field; `""` is for the form as a whole. */
export type EndpointFaults = Readonly<Record<string, Child>>;

/** The faults of the fields in a refusal. Rethrows any other error. */
export function faultsOf(error: unknown): EndpointFaults {
  if (!(error instanceof Problem) || error.status >= 500) throw error;
  const { errors = [] } = error.options;
  if (errors.length === 0) return { "": `${error.message}.` };
  return Object.fromEntries(
    errors.map(({ pointer, message }) => [pointer.split("/")[1] ?? "", `It ${message}.`]),
  );
}

/** The fault of a URL that another endpoint of the workspace has, with a link to that endpoint. */
export async function urlTakenFault(
  options: DashboardOptions,
  { to, workspaceId }: PageContext,
  url: string,
): Promise<EndpointFaults> {
  const db = await caughtUpEndpoints(options);
  const all = listWebhookEndpoints(db, workspaceId, { limit: ENDPOINTS_MAX });
  const holder = all.find((endpoint) => endpoint.url === url);
  const fault = "Another endpoint of this workspace already has this URL";
  // It may have been deleted meanwhile.
  if (holder === undefined) return { url: `${fault}.` };
  return {
    url: (
      <>
        {fault}: <a href={to(`/webhooks/${holder.id}`)}>open it</a>.
      </>
    ),
  };
}

interface EndpointFormProps {
  readonly context: PageContext;
  /** Paths below the dashboard's. */
  readonly action: string;
  /** The endpoint to change; null: a new one. */
  readonly endpoint: WebhookEndpointRow | null;
  /** Null before it is submitted. */
  readonly faults: EndpointFaults | null;
  readonly verb: string;
  readonly cancelTo: string;
}

interface ChoicesProps {
  readonly name: string;
  readonly legend: string;
  readonly hint: string;
  readonly fault: Child;
  readonly values: readonly string[];
  readonly chosen: readonly string[];
}

/** Any number of the values that the API knows. */
const Choices: FC<ChoicesProps> = ({ name, legend, hint, fault, values, chosen }) => (
  <fieldset class="choices" aria-describedby={`${name}-hint`}>
    <legend>{legend}</legend>
    <p class="hint" id={`${name}-hint`}>
      {hint}
    </p>
    {fault === undefined ? null : <p class="fault">{fault}</p>}
    {values.map((value) => (
      <CheckBox name={name} value={value} label={<code>{value}</code>} isChecked={chosen.includes(value)} />
    ))}
  </fieldset>
);

export const EndpointForm: FC<EndpointFormProps> = (props) => {
  const { context, endpoint, faults } = props;
  const field = formFields(context.form, faults ?? {});
  const chosen = (name: string, current: readonly string[] | null | undefined) =>
    faults === null ? (current ?? []) : context.form.getAll(name);
  const includable = includableBy(context.principal, endpoint?.include ?? []);
  return (
    <EntryForm
      context={context}
      action={props.action}
      refusal={faults?.[""]}
      verb={props.verb}
      cancelTo={props.cancelTo}
    >
      <Field
        {...field("url", endpoint?.url)}
        label="URL"
        type="url"
        isRequired
        placeholder="https://hooks.example.com/postledger"
        hint="A public HTTPS URL on port 443. Each event is sent there as a signed POST."
      />
      <Field
        {...field("description", endpoint?.description ?? "")}
        label="Description"
        hint="What listens there, for people. Up to 500 characters."
      />
      <Choices
        name="event_types"
        legend="Events"
        hint="Choose none to get all events, including those of later versions."
        fault={faults?.event_types}
        values={WEBHOOK_EVENT_TYPES}
        chosen={chosen("event_types", endpoint?.eventTypes)}
      />
      {includable.length === 0 ? null : (
        <Choices
          name="include"
          legend="Personal data in events of messages"
          hint="Choose none unless your program needs it: what it has received is not erased with the message."
          fault={faults?.include}
          values={includable}
          chosen={chosen("include", endpoint?.include)}
        />
      )}
    </EntryForm>
  );
};
