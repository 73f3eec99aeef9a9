import type { OpenApiContent, OpenApiOperation } from "./openApiTypes.ts";
import { inline } from "./proseHtml.ts";
import { type Field, fieldOf, fieldsOf, type Schemas, typeText } from "./schemaFields.ts";
import type { JsonSchema } from "./typeboxToJsonSchema.ts";

/** Which fields to mark: the required ones of a request, the optional ones of an answer. */
type Direction = "request" | "answer";

function presence({ required }: Field, direction: Direction): string {
  if (direction === "request") return required ? ' <span class="required">required</span>' : "";
  return required ? "" : ' <span class="soft">optional</span>';
}

function fieldItem(field: Field, direction: Direction): string {
  const { name, depth, type, description } = field;
  const told = description === "" ? "" : `<p>${inline(description)}</p>`;
  return `<li class="d${depth}"><code>${Bun.escapeHTML(name)}</code> <span class="type">${Bun.escapeHTML(type)}</span>${presence(field, direction)}${told}</li>`;
}

/** A list of names, each with its type and its meaning. */
export function fieldList(fields: readonly Field[], direction: Direction): string {
  const items = fields.map((field) => fieldItem(field, direction)).join("");
  return items === "" ? "" : `<ul class="fields">${items}</ul>`;
}

const PLACES = { path: "Path parameters", query: "Query parameters", header: "Headers" } as const;

/** The parameters of an operation, or the headers of a call that the service makes. */
export function parametersHtml(
  { parameters = [] }: Pick<OpenApiOperation, "parameters">,
  schemas: Schemas,
): string {
  return Object.entries(PLACES)
    .map(([place, title]) => {
      const fields = parameters
        .filter((one) => one.in === place)
        .map((one) => fieldOf(one.name, one, schemas));
      return fields.length === 0 ? "" : `<h4>${title}</h4>${fieldList(fields, "request")}`;
    })
    .join("");
}

/** The fields of a body; its type if it has none. */
export function fieldsHtml(schema: JsonSchema, schemas: Schemas, direction: Direction): string {
  const fields = fieldsOf(schema, schemas);
  return fields.length > 0
    ? fieldList(fields, direction)
    : `<p><span class="type">${Bun.escapeHTML(typeText(schema, schemas))}</span></p>`;
}

/** The fields of a body, in each of its media types. */
export function bodiesHtml(content: OpenApiContent, schemas: Schemas, direction: Direction): string {
  return Object.entries(content)
    .map(
      ([type, { schema }]) =>
        `<h4>Body <code class="media">${Bun.escapeHTML(type)}</code></h4>${fieldsHtml(schema, schemas, direction)}`,
    )
    .join("");
}
