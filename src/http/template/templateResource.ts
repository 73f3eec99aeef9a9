import { Type } from "@sinclair/typebox";
import type { TemplateLocation, VersionView } from "../../commands/template/readTemplate.ts";
import { ALIAS_PATTERN, ALIAS_RULE } from "../../domain/template/templateAlias.ts";
import { VARIABLE_TYPES } from "../../domain/template/variables.ts";
import { AnyName, Closed, DateTime, Nullable, OneOf, Uuid } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";
import { withErrorText } from "../body/validation.ts";

/** Any JSON value but null. */
const Given = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Array(Type.Unknown()),
  Type.Record(AnyName, Type.Unknown()),
]);

const VariableType = OneOf(VARIABLE_TYPES);
export const variableFields = {
  name: withErrorText(
    "must begin with a letter, and have only letters (a to z), digits and underscores, 80 in all",
    Type.String({
      pattern: "^[A-Za-z][A-Za-z0-9_]{0,79}$",
      description: "A letter, then letters, digits and underscores.",
    }),
  ),
  type: VariableType,
};
export const fallback = Type.Optional(Type.Unsafe<unknown>(Given));

/** A template's alias. */
export function Alias(description: string) {
  return withErrorText(ALIAS_RULE, Type.String({ pattern: ALIAS_PATTERN, description }));
}

export const Template = Closed(
  {
    id: Uuid,
    object: Type.Literal("template"),
    name: Type.String(),
    alias: Nullable(Alias("What sends may name it by instead of its id; null if it has none.")),
    status: OneOf(["draft", "published", "archived"]),
    current_version_id: Nullable(Uuid),
    created_at: DateTime,
    updated_at: DateTime,
  },
  { $id: "Template" },
);

export const templateJson = jsonOfSchema(Template);

export const TemplateVersion = Closed(
  {
    id: Uuid,
    object: Type.Literal("template_version"),
    template_id: Uuid,
    number: Type.Integer({ minimum: 1 }),
    status: OneOf(["draft", "published"]),
    subject: Type.String(),
    html: Nullable(Type.String()),
    text: Nullable(Type.String()),
    variables: Type.Array(Closed({ ...variableFields, required: Type.Boolean(), default: fallback })),
    created_at: DateTime,
    published_at: Nullable(DateTime),
  },
  { $id: "TemplateVersion" },
);

const wholeVersionJson = jsonOfSchema(TemplateVersion);

export function versionJson({ templateId }: TemplateLocation, { version, source }: VersionView) {
  const status = version.publishedAt === null ? "draft" : "published";
  return wholeVersionJson({ ...version, ...source, templateId, status });
}

export const TemplatePreview = Closed(
  {
    object: Type.Literal("template_preview"),
    subject: Type.String(),
    html: Nullable(Type.String()),
    text: Nullable(Type.String()),
  },
  { $id: "TemplatePreview" },
);
