/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import { WEBHOOK_EVENT_TYPES } from "../../../domain/webhookEventTypes.ts";
import { checkBy, checkRules } from "../../body/validation.ts";
import { Problem } from "../../server/problem.ts";
import { webhookEndpointOperations } from "../../webhook/webhookEndpointOperations.ts";
import { CheckBox, EntryForm, Field } from "../components/form.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";

/** The input of an endpoint's form. */
export interface EndpointInput {
  readonly url: string;
  readonly description: string | null;
  /** Null: all. */
  readonly eventTypes: string[] | null;
}

const { body: EndpointBody } = webhookEndpointOperations.registerWebhook;
const checkBody = checkBy(EndpointBody);

/** The input of a submitted form. */
export function inputOf(form: URLSearchParams): EndpointInput {
  const eventTypes = [...new Set(form.getAll("event_types"))];
  return {
    url: fieldOf(form, "url").trim(),
    description: fieldOf(form, "description").trim() || null,
    eventTypes: eventTypes.length === 0 ? null : eventTypes,
  };
}

/** The input for an endpoint's current state. */
export function inputFor({ url, description, eventTypes }: WebhookEndpointRow): EndpointInput {
  return { url, description, eventTypes: eventTypes === null ? null : [...eventTypes] };
}

/** Throws INVALID_REQUEST for what the API would refuse. */
export function checkInput({ url, description, eventTypes }: EndpointInput): void {
  const body = { url, description, event_types: eventTypes };
  checkBody(body);
  checkRules(EndpointBody, body);
}

/** Faults by field; `""` is for the form as a whole. */
export type EndpointFaults = Readonly<Record<string, string>>;

/** The faults of the fields in a refusal. Rethrows any other error. */
export function faultsOf(error: unknown): EndpointFaults {
  if (!(error instanceof Problem) || error.status >= 500) throw error;
  const { errors = [] } = error.options;
  if (errors.length === 0) {
    const isAddress = error.code === "WEBHOOK_ALREADY_EXISTS";
    return { [isAddress ? "url" : ""]: `${error.message}.` };
  }
  return Object.fromEntries(
    errors.map(({ pointer, message }) => [pointer.split("/")[1] ?? "", `It ${message}.`]),
  );
}

interface EndpointFormProps {
  readonly context: PageContext;
  /** Paths below the dashboard's. */
  readonly action: string;
  readonly input: EndpointInput;
  readonly faults: EndpointFaults;
  readonly verb: string;
  readonly cancelTo: string;
}

/** The form that adds or changes an endpoint. */
export const EndpointForm: FC<EndpointFormProps> = ({ context, action, input, faults, verb, cancelTo }) => (
  <EntryForm context={context} action={action} refusal={faults[""]} verb={verb} cancelTo={cancelTo}>
    <Field
      name="url"
      label="Address"
      type="url"
      value={input.url}
      isRequired
      placeholder="https://hooks.example.com/postledger"
      hint="A public HTTPS address on port 443. Each event is sent there as a signed POST."
      fault={faults.url}
    />
    <Field
      name="description"
      label="Description"
      value={input.description ?? ""}
      hint="What listens there, for people. Up to 500 characters."
      fault={faults.description}
    />
    <fieldset class="choices" aria-describedby="event_types-hint">
      <legend>Events</legend>
      <p class="hint" id="event_types-hint">
        Choose none to get all events, including those of later versions.
      </p>
      {faults.event_types === undefined ? null : <p class="fault">{faults.event_types}</p>}
      {WEBHOOK_EVENT_TYPES.map((type) => (
        <CheckBox
          name="event_types"
          value={type}
          label={<code>{type}</code>}
          isChecked={input.eventTypes?.includes(type) ?? false}
        />
      ))}
    </fieldset>
  </EntryForm>
);
