import { type TProperties, Type } from "@sinclair/typebox";
import { displayNameFaults, memberRules } from "../body/commonFaults.ts";
import { AnyName, Closed, ShownName } from "../body/commonSchemas.ts";
import { withAdvice, withRules } from "../body/validation.ts";
import { variablesFaults } from "../email/sendEmailFaults.ts";
import { answersPage } from "../lists/listOperation.ts";
import { answersCreated, answersNoContent, answersOk, operationsOf } from "../server/operation.ts";
import { DraftVersionBody } from "./draftVersionRequest.ts";
import { Alias, Template, TemplatePreview, TemplateVersion } from "./templateResource.ts";

const IN_VERSION = "it is part of a version: POST /api/v1/templates/{id}/versions";
/** Members of other services' templates, which have no versions. */
const TEMPLATE_ADVICE = { subject: IN_VERSION, html: IN_VERSION, text: IN_VERSION, variables: IN_VERSION };
const RENAME_ADVICE = { ...TEMPLATE_ADVICE, alias: "a template keeps its alias, or has none, for its life" };

/** A body with the name of a template, and more. */
export function namingBody<More extends TProperties>(
  more: More,
  advice: Readonly<Record<string, string>>,
  examples: readonly object[] = [],
) {
  return withRules(
    withAdvice(advice, Closed({ name: ShownName(), ...more }, { examples: [...examples] })),
    memberRules(({ name }) => displayNameFaults("/name", name)),
  );
}

export const CreateTemplateBody = namingBody(
  {
    alias: Type.Optional(
      Alias("What sends may say as `template_alias` instead of `template_id`. It cannot be changed."),
    ),
  },
  TEMPLATE_ADVICE,
  [{ name: "Order confirmation", alias: "order-confirmation" }],
);

export const PreviewBody = withRules(
  Closed(
    { variables: Type.Optional(Type.Record(AnyName, Type.Unknown())) },
    { examples: [{ variables: { name: "Ana", order: 1042 } }] },
  ),
  memberRules(({ variables }) => variablesFaults(variables)),
);

export const templateOperations = operationsOf("Templates", {
  createTemplate: {
    summary: "Create a template",
    description:
      "It has no version yet: draft one, then publish it. An alias names one template of the workspace, until that is deleted.",
    body: CreateTemplateBody,
    ...answersCreated(Template, "TEMPLATE_ALREADY_EXISTS", "TEMPLATE_LIMIT_REACHED"),
    also: [
      {
        status: 200,
        schema: Template,
        description: "The template with this alias and name was created before: as it is now.",
      },
    ],
  },
  listTemplates: {
    summary: "List templates, newest first",
    ...answersPage(Template, { alias: Type.Optional(Alias("The one template with this alias, or none.")) }),
  },
  getTemplate: {
    summary: "Read a template",
    ...answersOk(Template, "NOT_FOUND"),
  },
  renameTemplate: {
    summary: "Rename a template",
    description: "The name is for people: sends name the template by id or alias, and no message shows it.",
    body: namingBody({}, RENAME_ADVICE, [{ name: "Order confirmation" }]),
    ...answersOk(Template, "NOT_FOUND", "TEMPLATE_ARCHIVED", "TEMPLATE_LIMIT_REACHED"),
  },
  deleteTemplate: {
    summary: "Delete a template",
    description:
      "With all of its versions, whose sources no longer count. Messages that were accepted with it have their content.",
    ...answersNoContent("NOT_FOUND"),
  },
  archiveTemplate: {
    summary: "Archive a template",
    description:
      "Permanently: nothing is drafted, published or sent with it again. A repeat changes nothing.",
    ...answersOk(Template, "NOT_FOUND"),
  },
  draftTemplateVersion: {
    summary: "Draft a version of a template",
    description:
      "A version never changes: a correction is a new version. Every variable that its Liquid reads and does not make " +
      "itself must be in `variables`; a misspelt one is refused by its name.",
    body: DraftVersionBody,
    ...answersCreated(
      TemplateVersion,
      "NOT_FOUND",
      "TEMPLATE_ARCHIVED",
      "TEMPLATE_LIMIT_REACHED",
      "STORAGE_LIMIT_EXCEEDED",
    ),
  },
  listTemplateVersions: {
    summary: "List the versions of a template, newest first",
    ...answersPage(TemplateVersion, {}, "NOT_FOUND"),
  },
  getTemplateVersion: {
    summary: "Read a version of a template",
    ...answersOk(TemplateVersion, "NOT_FOUND"),
  },
  publishTemplateVersion: {
    summary: "Publish a version of a template",
    description:
      "Makes it the version that sends without a template_version_id use. An older version can be published again.",
    ...answersOk(TemplateVersion, "NOT_FOUND", "TEMPLATE_ARCHIVED", "TEMPLATE_LIMIT_REACHED"),
  },
  previewTemplateVersion: {
    summary: "Render a version of a template, draft or published",
    body: PreviewBody,
    ...answersOk(TemplatePreview, "NOT_FOUND", "INVALID_TEMPLATE_DATA"),
  },
});
