/** @jsxImportSource hono/jsx */
import { apiKeyDescendants } from "../../../../projections/apiKeys.ts";
import type { IssuedKey } from "../../../commands/apiKey/issueApiKey.ts";
import { OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX } from "../../../domain/apiKey/decisions.ts";
import { apiKeyIdOf } from "../../../kernel/crypto/apiKeyFormat.ts";
import { wholeNumber } from "../../../kernel/text/wholeNumber.ts";
import {
  existingKey,
  issuedKey,
  issueOnRequest,
  pageOfApiKeys,
  renameOnRequest,
  revokeOnRequest,
  rotateOnRequest,
} from "../../apiKey/apiKeyHandlers.ts";
import { apiKeyJson } from "../../apiKey/apiKeyResource.ts";
import { keysToWarnOf } from "../../apiKey/expiryWarningText.ts";
import { IssueApiKeyBody } from "../../apiKey/issueApiKeyRequest.ts";
import { checkBy } from "../../body/validation.ts";
import { catchUpIfInTime, caughtUpRows } from "../../lists/caughtUpReads.ts";
import { invalid } from "../../server/problem.ts";
import { asksFirst, type Confirmation } from "../components/confirmationPage.tsx";
import { CheckBox, Select } from "../components/form.tsx";
import { enteredName, nameFormPage } from "../components/nameFormPage.tsx";
import { timeOfField } from "../components/time.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { secretAlreadyShownPage } from "../frame/secretAlreadyShownPage.tsx";
import { API_KEYS, type ApiKeyJson, apiKeyListPage, apiKeyPage, newKeyPage } from "./apiKeyPage.tsx";
import { keyNames } from "./keyNames.ts";
import { newApiKeyPage } from "./newApiKeyPage.tsx";

const PATH = "/api-keys";
const ONE = `${PATH}/:id`;
const SCOPE = "workspace:manage";

const OVERLAPS = [
  { value: "0", label: "None: it ends at once" },
  { value: "3600", label: "1 hour" },
  { value: String(OVERLAP_SECONDS_DEFAULT), label: "1 day" },
  { value: "604800", label: "1 week" },
  { value: String(OVERLAP_SECONDS_MAX), label: "30 days" },
];

const checkBody: (value: unknown) => asserts value is IssueApiKeyBody = checkBy(IssueApiKeyBody);

/** Listing, creating, renaming, rotating and revoking API keys. */
export function apiKeyRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    ...listRoutes(options),
    ...renameRoutes(options),
    ...rotationRoutes(options),
    ...revocationRoutes(options),
  ];
}

function keyOf(options: DashboardOptions, { workspaceId, params }: PageContext): Promise<ApiKeyJson> {
  return existingKey(options, workspaceId, params.id ?? "");
}

/** The names of the keys that a key came of. */
function parentNames({ deps }: DashboardOptions, apiKey: ApiKeyJson) {
  return keyNames(deps, [apiKey.issued_by, apiKey.rotated_from]);
}

function listRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const newPage = async (context: PageContext, faults?: FormFaults): Promise<Page> =>
    newApiKeyPage(
      context,
      {
        issuer: await existingKey(options, context.workspaceId, context.principal.keyId),
        hasLoginProxy: options.loginProxy !== null,
      },
      faults,
    );
  return [
    get(PATH, SCOPE, async (context) => {
      const request = pageAsked(context);
      const { shown, nextCursor } = await pageOfApiKeys(options, context.workspaceId, request);
      const keys = shown.map((row) => apiKeyJson(options.deps, row));
      const now = options.deps.clock.now();
      const ending = keysToWarnOf(options.readModel("api-keys").db, now, context.workspaceId) ?? [];
      return apiKeyListPage(context, { page: { shown: keys, nextCursor }, ending, now });
    }),
    get(`${PATH}/new`, SCOPE, (context) => newPage(context)),
    post(`${PATH}/new`, SCOPE, async (context) => {
      const body = requestedKey(context.form);
      try {
        checkBody(body);
        const wanted = { body, id: apiKeyIdOf(context.formId) };
        const made = await issueOnRequest(options, context.principal, wanted, context.commandContext());
        return await shownNewKey(options, context, made);
      } catch (error) {
        const { fields, ...faults } = formFaults(error);
        const missing = context.form.has("scopes") ? {} : { scopes: "Choose at least one scope." };
        return newPage(context, { ...faults, fields: { ...fields, ...missing } });
      }
    }),
    get(ONE, SCOPE, async (context) => {
      const apiKey = await keyOf(options, context);
      return apiKeyPage(context, apiKey, await parentNames(options, apiKey));
    }),
  ];
}

/** The new key of a submitted form; without one, the form is a repeat. */
async function shownNewKey(
  options: DashboardOptions,
  context: PageContext,
  made: IssuedKey | null,
): Promise<Page | Response> {
  if (made === null) {
    const path = `${PATH}/${apiKeyIdOf(context.formId)}`;
    // A person's key has no secret that was shown.
    if (fieldOf(context.form, "person") !== "") return context.seeOther(path);
    return secretAlreadyShownPage(context, { above: API_KEYS, path, label: "To the key" });
  }
  await catchUpIfInTime(options.readModel("api-keys"));
  return newKeyPage(context, await issuedKey(options, context.workspaceId, made));
}

function linesOf(form: URLSearchParams, name: string): readonly string[] {
  return fieldOf(form, name)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The form's input as an unchecked body of the API. */
function requestedKey(form: URLSearchParams): unknown {
  const [expiresAt, person] = [fieldOf(form, "expires_at"), fieldOf(form, "person")];
  const [senders, ranges] = [linesOf(form, "senders"), linesOf(form, "client_ranges")];
  return {
    name: fieldOf(form, "name"),
    scopes: form.getAll("scopes"),
    ...(form.get("test") === "true" ? { test: true } : {}),
    ...(expiresAt === ""
      ? {}
      : { expires_at: /(Z|[+-]\d\d:\d\d)$/.test(expiresAt) ? expiresAt : timeOfField(expiresAt) }),
    ...(person === "" ? {} : { person }),
    ...(senders.length === 0 ? {} : { senders }),
    ...(ranges.length === 0 ? {} : { client_ranges: ranges }),
  };
}

function renameRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    get(`${ONE}/rename`, SCOPE, async (context) => renamePage(context, await keyOf(options, context))),
    post(`${ONE}/rename`, SCOPE, async (context) => {
      const apiKey = await keyOf(options, context);
      const { name, fault } = enteredName(context.form);
      if (fault !== undefined) return renamePage(context, apiKey, fault);
      await renameOnRequest(options, { id: apiKey.id, name }, context.commandContext());
      await catchUpIfInTime(options.readModel("api-keys"));
      return context.seeOther(`${PATH}/${apiKey.id}`, "The key was renamed.");
    }),
  ];
}

function renamePage(context: PageContext, { id, name }: ApiKeyJson, fault?: string): Page {
  const at = `${PATH}/${id}`;
  return nameFormPage(context, {
    title: `Rename ${name}`,
    heading: "Rename the key",
    above: [...API_KEYS, { path: at, title: name }],
    hint: "What it is for. The key itself stays as it is.",
    action: `${at}/rename`,
    verb: "Rename",
    cancelTo: at,
    name,
    fault,
  });
}

function rotationRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return asksFirst(
    `${ONE}/rotate`,
    SCOPE,
    async (context) => rotation(await keyOf(options, context)),
    (context) => rotate(options, context),
  );
}

function rotation({ id, name }: ApiKeyJson): Confirmation {
  return {
    title: `Rotate ${name}`,
    above: [...API_KEYS, { path: `${PATH}/${id}`, title: name }],
    verb: "Rotate",
    text: (
      <>
        <p>
          A new key that may do the same is shown once. The old one keeps working for a while, then ends for
          good.
        </p>
        <Select
          name="overlap_seconds"
          label="The old key goes on for"
          value={String(OVERLAP_SECONDS_DEFAULT)}
          options={OVERLAPS}
        />
      </>
    ),
  };
}

async function rotate(options: DashboardOptions, context: PageContext): Promise<Page | Response> {
  const apiKey = await keyOf(options, context);
  try {
    const overlapSeconds = overlapOf(fieldOf(context.form, "overlap_seconds"));
    const wanted = { id: apiKey.id, overlapSeconds, newKeyId: apiKeyIdOf(context.formId) };
    const made = await rotateOnRequest(options, context.principal, wanted, context.commandContext());
    return await shownNewKey(options, context, made);
  } catch (error) {
    const { status, whole, fields } = formFaults(error);
    const refused = { status, text: whole ?? rotationFault(fields) };
    return apiKeyPage(context, apiKey, await parentNames(options, apiKey), refused);
  }
}

/** Why a key cannot be rotated, for faults about the new key. */
function rotationFault(fields: Readonly<Record<string, string>>): string {
  if (fields.expires_at === undefined) return `The overlap is not taken. ${fields.overlap_seconds ?? ""}`;
  return "The new key would last longer than the one that you are logged in with. Log in with a key that lasts as long.";
}

function overlapOf(text: string): number {
  const seconds =
    text === "" ? OVERLAP_SECONDS_DEFAULT : wholeNumber(text, { min: 0, max: OVERLAP_SECONDS_MAX });
  if (seconds === null) {
    throw invalid("/overlap_seconds", `must be a whole number from 0 to ${OVERLAP_SECONDS_MAX}`);
  }
  return seconds;
}

function revocationRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return asksFirst(
    `${ONE}/revoke`,
    SCOPE,
    async (context) => {
      const apiKey = await keyOf(options, context);
      const children = apiKeyDescendants(await caughtUpRows(options.readModel("api-keys")), apiKey.id);
      return revocation(context, apiKey, children.length);
    },
    async (context) => {
      const { id, name } = await keyOf(options, context);
      const withChildren = context.form.get("with_children") === "true";
      await revokeOnRequest(options, { id, withChildren }, context.commandContext());
      await catchUpIfInTime(options.readModel("api-keys"));
      return context.seeOther(PATH, `${name} no longer works.`);
    },
  );
}

function revocation({ principal }: PageContext, { id, name }: ApiKeyJson, children: number): Confirmation {
  return {
    title: `Revoke ${name}`,
    above: [...API_KEYS, { path: `${PATH}/${id}`, title: name }],
    verb: "Revoke",
    isDangerous: true,
    text: (
      <>
        <p>
          It stops working within a second, and whatever uses it fails. This cannot be undone.
          {id === principal.keyId ? " You are logged in with it, so this logs you out." : ""}
        </p>
        {children === 0 ? null : (
          <CheckBox
            name="with_children"
            value="true"
            label={`Also revoke the ${children} ${children === 1 ? "key" : "keys"} that came of it`}
          />
        )}
      </>
    ),
  };
}
