import type { TObject } from "@sinclair/typebox";
import { scopesPermitting } from "../../domain/apiKey/scopes.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { type Operation, type Operations, paramsOf, TAGS } from "../server/operation.ts";
import { ProblemDetails } from "../server/problemResponse.ts";
import { type Route, type RouteName, routes } from "../server/routes.ts";
import { answersOf, documentMembers } from "./openApiResponses.ts";
import type { OpenApiContent, OpenApiDocument, OpenApiOperation, OpenApiParameter } from "./openApiTypes.ts";
import { documentWebhooks, WEBHOOK_EVENTS_TAG, webhookEventsText } from "./openApiWebhooks.ts";
import { answerSchema, type Components, type JsonSchema, jsonSchema } from "./typeboxToJsonSchema.ts";

interface OpenApiOptions {
  readonly operations: Operations;
  /** Where callers reach the service. */
  readonly baseUrl: URL;
  readonly version: string;
}

const DESCRIPTION = `Postledger sends transactional email and calls webhooks, and records all of it in an append-only log.

**Errors** are problem documents (RFC 9457): \`code\` says what is wrong, \`errors\` names each wrong value. An unknown path is 404 NOT_FOUND. A method that a path does not take is 405 METHOD_NOT_ALLOWED with \`Allow\`. Unknown members of a body and unknown query parameters are refused by name. HEAD is answered like GET, without the body.

**Lists** are newest first; items with the same time are in the order in which they were written to the log. Each page is \`{ data, next_cursor }\`. Only a \`next_cursor\` of null marks the last page: where a filter matches few items, a page may hold fewer than \`limit\`, or none.

**Answers** may get new members in any release: ignore those that you do not know.

**Values**: times are RFC 3339 in UTC, lengths count Unicode code points, and an id of another workspace is an unknown id. What cannot be an id is 400 INVALID_REQUEST.

**Rate limits** hold for each running instance.`;

/** A route's path in OpenAPI's notation. */
export function documentPath(path: string): string {
  return path.replace(/:([a-z_]+)/g, "{$1}");
}

function documentOperation(name: RouteName, operation: Operation, components: Components): OpenApiOperation {
  const route: Route = routes[name];
  const { summary, description, tag } = operation;
  return {
    operationId: name,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    // The scope takes the place of roles in a security requirement (OpenAPI 3.1, Security Requirement Object).
    // Each requirement of the list is enough by itself.
    security: route.scope === null ? [] : scopesPermitting(route.scope).map((scope) => ({ apiKey: [scope] })),
    ...requestOf(route, operation, components),
    responses: answersOf(route, operation, components),
  };
}

/** Describes the operations, in OpenAPI 3.1 with JSON Schema 2020-12. */
export function openApiDocument({ operations, baseUrl, version }: OpenApiOptions): OpenApiDocument {
  const components: Components = new Map();
  answerSchema(ProblemDetails, components);
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  const described = Object.entries(operations) as [RouteName, Operation][];
  for (const [name, operation] of described) {
    const { method, path } = routes[name];
    const at = documentPath(path);
    paths[at] ??= {};
    paths[at][method.toLowerCase()] = documentOperation(name, operation, components);
  }
  const webhooks = documentWebhooks(components);
  const tags = [...new Set(described.map(([, { tag }]) => tag))].map((name) => ({
    name,
    description: TAGS[name],
  }));
  return {
    openapi: "3.1.1",
    info: {
      title: "Postledger",
      version,
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    servers: [{ url: baseUrl.href.replace(/\/$/, "") }],
    tags: [...tags, { name: WEBHOOK_EVENTS_TAG, description: webhookEventsText() }],
    paths,
    webhooks,
    components: {
      schemas: Object.fromEntries(components) as Record<string, JsonSchema>,
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description: "An API key of one workspace. The operation names the scope that the key must hold.",
        },
      },
    },
  };
}

function parameters(
  schema: TObject | undefined,
  place: OpenApiParameter["in"],
  components: Components,
): readonly OpenApiParameter[] {
  return documentMembers(schema, components).map(([name, member]) => ({ name, in: place, ...member }));
}

/** The parameters and the body that an operation takes. */
function requestOf(
  route: Route,
  operation: Operation,
  components: Components,
): Pick<OpenApiOperation, "parameters" | "requestBody"> {
  const { query, headers, body, isBodyOptional, multipart } = operation;
  const all = [
    ...parameters(paramsOf(route, operation), "path", components),
    ...parameters(query, "query", components),
    ...parameters(headers, "header", components),
  ];
  const content: OpenApiContent = {
    ...(body ? { "application/json": { schema: jsonSchema(body, components) } } : {}),
    ...(multipart ? { "multipart/form-data": { schema: jsonSchema(multipart, components) } } : {}),
  };
  const size = `JSON of at most ${grouped(route.bodyBytesMax)} bytes.`;
  return {
    ...(all.length > 0 ? { parameters: all } : {}),
    ...(body || multipart ? { requestBody: { description: size, required: !isBodyOptional, content } } : {}),
  };
}
