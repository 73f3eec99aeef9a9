import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { VARIABLE_TYPES } from "../../domain/template/variables.ts";
import { AnyName, Cursor, Limit, NoQuery, Text, Uuid } from "../body/commonSchemas.ts";
import { inWords } from "../body/validation.ts";
import type { Operations } from "../server/operation.ts";

const SOURCE_CHARACTERS_MAX = 256 * 1_024;
/** Definitions of one version. */
const VARIABLES_MAX = 100;

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const Closed = { additionalProperties: false };
const Time = Type.String({ format: "date-time" });
/** Any JSON value but null. */
const Given = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Array(Type.Unknown()),
  Type.Record(AnyName, Type.Unknown()),
]);

const VariableType = Type.Union(VARIABLE_TYPES.map((type) => Type.Literal(type)));
const variableFields = {
  name: inWords(
    "must begin with a letter, and have only letters (a to z), digits and underscores, 80 in all",
    Type.String({
      pattern: "^[A-Za-z][A-Za-z0-9_]{0,79}$",
      description: "A letter, then letters, digits and underscores.",
    }),
  ),
  type: VariableType,
};
const fallback = Type.Optional(Given);

export const CreateTemplateBody = Type.Object(
  { name: Text({ minLength: 1, maxLength: 200 }) },
  { ...Closed, examples: [{ name: "Order confirmation" }] },
);

export const DraftVersionBody = Type.Object(
  {
    subject: Text({ minLength: 1, maxLength: 2_000, description: "Liquid; nothing is escaped." }),
    html: Type.Optional(
      Nullable(Text({ maxLength: SOURCE_CHARACTERS_MAX, description: "Liquid; output is escaped." })),
    ),
    text: Type.Optional(
      Nullable(Text({ maxLength: SOURCE_CHARACTERS_MAX, description: "Liquid; nothing is escaped." })),
    ),
    variables: Type.Optional(
      Type.Array(
        Type.Object(
          {
            ...variableFields,
            required: Type.Optional(
              Type.Boolean({ description: "Whether a send must give it: not unless this is true." }),
            ),
            default: fallback,
          },
          Closed,
        ),
        { maxItems: VARIABLES_MAX },
      ),
    ),
  },
  {
    ...Closed,
    examples: [
      {
        subject: "Your order {{ order }}",
        html: "<p>Hello {{ name }}, your order {{ order }} is on its way.</p>",
        text: "Hello {{ name }}, your order {{ order }} is on its way.",
        variables: [
          { name: "name", type: "string", default: "there" },
          { name: "order", type: "number", required: true },
        ],
      },
    ],
  },
);
export type DraftVersionBody = Static<typeof DraftVersionBody>;

export const PreviewBody = Type.Object(
  { variables: Type.Optional(Type.Record(AnyName, Type.Unknown())) },
  { ...Closed, examples: [{ variables: { name: "Ana", order: 1042 } }] },
);

export const ListQuery = Type.Object({ limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) }, Closed);
export type ListQuery = Static<typeof ListQuery>;

const TemplateJson = Type.Object(
  {
    id: Uuid,
    object: Type.Literal("template"),
    name: Type.String(),
    status: Type.Union([Type.Literal("draft"), Type.Literal("published"), Type.Literal("archived")]),
    current_version_id: Nullable(Uuid),
    created_at: Time,
    updated_at: Time,
  },
  Closed,
);

const VersionJson = Type.Object(
  {
    id: Uuid,
    object: Type.Literal("template_version"),
    template_id: Uuid,
    number: Type.Integer({ minimum: 1 }),
    status: Type.Union([Type.Literal("draft"), Type.Literal("published")]),
    subject: Type.String(),
    html: Nullable(Type.String()),
    text: Nullable(Type.String()),
    variables: Type.Array(
      Type.Object({ ...variableFields, required: Type.Boolean(), default: fallback }, Closed),
    ),
    created_at: Time,
    published_at: Nullable(Time),
  },
  Closed,
);

const PreviewJson = Type.Object(
  {
    object: Type.Literal("template_preview"),
    subject: Type.String(),
    html: Nullable(Type.String()),
    text: Nullable(Type.String()),
  },
  Closed,
);

const listOf = (item: TSchema) =>
  Type.Object({ data: Type.Array(item), next_cursor: Nullable(Type.String()) }, Closed);

const tag = "Templates";

export const templateOperations = {
  createTemplate: {
    summary: "Create a template",
    description: "It has no version yet: draft one, then publish it.",
    tag,
    body: CreateTemplateBody,
    success: { status: 201, schema: TemplateJson },
    problems: ["TEMPLATE_LIMIT_REACHED"],
  },
  listTemplates: {
    summary: "List templates, newest first",
    tag,
    query: ListQuery,
    success: { status: 200, schema: listOf(TemplateJson) },
    problems: ["INVALID_REQUEST"],
  },
  getTemplate: {
    summary: "Read a template",
    tag,
    query: NoQuery,
    success: { status: 200, schema: TemplateJson },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  deleteTemplate: {
    summary: "Delete a template",
    description:
      "With all of its versions, whose sources no longer count. Messages that were accepted with it have their content.",
    tag,
    query: NoQuery,
    success: { status: 204, schema: null },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  archiveTemplate: {
    summary: "Archive a template",
    description: "For good: nothing is drafted, published or sent with it again. A repeat changes nothing.",
    tag,
    query: NoQuery,
    success: { status: 200, schema: TemplateJson },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  draftTemplateVersion: {
    summary: "Draft a version of a template",
    description:
      "A version never changes: a correction is a new version. Every variable that its Liquid reads and does not make " +
      "itself must be in `variables`; a misspelt one is refused by its name.",
    tag,
    body: DraftVersionBody,
    success: { status: 201, schema: VersionJson },
    problems: ["NOT_FOUND", "TEMPLATE_ARCHIVED", "TEMPLATE_LIMIT_REACHED", "STORAGE_LIMIT_EXCEEDED"],
  },
  listTemplateVersions: {
    summary: "List the versions of a template, newest first",
    tag,
    query: ListQuery,
    success: { status: 200, schema: listOf(VersionJson) },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  getTemplateVersion: {
    summary: "Read a version of a template",
    tag,
    query: NoQuery,
    success: { status: 200, schema: VersionJson },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  publishTemplateVersion: {
    summary: "Publish a version of a template",
    description:
      "Makes it the version that sends without a template_version_id use. An older version can be published again.",
    tag,
    query: NoQuery,
    success: { status: 200, schema: VersionJson },
    problems: ["INVALID_REQUEST", "NOT_FOUND", "TEMPLATE_ARCHIVED", "TEMPLATE_LIMIT_REACHED"],
  },
  previewTemplateVersion: {
    summary: "Render a version of a template, draft or published",
    tag,
    body: PreviewBody,
    success: { status: 200, schema: PreviewJson },
    problems: ["NOT_FOUND", "INVALID_TEMPLATE_DATA"],
  },
} satisfies Operations;
