import { type TObject, Type } from "@sinclair/typebox";
import { DESCRIBED_AS, Uuid } from "../body/commonSchemas.ts";
import type { Operation } from "../server/operation.ts";
import type { Route } from "../server/routes.ts";
import type { OpenApiContent, OpenApiOperation, OpenApiParameter } from "./openApiTypes.ts";
import { type Components, type JsonSchema, jsonSchema } from "./typeboxToJsonSchema.ts";

function parameters(
  schema: TObject | undefined,
  place: OpenApiParameter["in"],
  components: Components,
): readonly OpenApiParameter[] {
  if (schema === undefined) return [];
  return Object.entries(schema.properties).map(([name, property]) => {
    const { description, [DESCRIBED_AS]: described, ...own } = jsonSchema(property, components);
    return {
      name,
      in: place,
      required: schema.required?.includes(name) ?? false,
      ...(typeof description === "string" ? { description } : {}),
      schema: (described ?? own) as JsonSchema,
    };
  });
}

/** What a path's parameters are when the operation does not say: ids are UUIDs. */
function paramsOf({ path }: Route): TObject {
  const names = [...path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => name);
  const schemaOf = (name: string) => (/(^|_)id$/.test(name) ? Uuid : Type.String({ minLength: 1 }));
  return Type.Object(Object.fromEntries(names.map((name) => [name, schemaOf(name)])));
}

function sizeOf(route: Route): string {
  return `JSON of at most ${route.bodyBytesMax.toLocaleString("en")} bytes.`;
}

/** The parameters and the body that an operation takes. */
export function requestOf(
  route: Route,
  { params = paramsOf(route), query, headers, body, isBodyOptional, multipart }: Operation,
  components: Components,
): Pick<OpenApiOperation, "parameters" | "requestBody"> {
  const all = [
    ...parameters(params, "path", components),
    ...parameters(query, "query", components),
    ...parameters(headers, "header", components),
  ];
  const content: OpenApiContent = {
    ...(body ? { "application/json": { schema: jsonSchema(body, components) } } : {}),
    ...(multipart ? { "multipart/form-data": { schema: jsonSchema(multipart, components) } } : {}),
  };
  return {
    ...(all.length > 0 ? { parameters: all } : {}),
    ...(body || multipart
      ? { requestBody: { description: sizeOf(route), required: !isBodyOptional, content } }
      : {}),
  };
}
