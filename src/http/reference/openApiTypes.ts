import type { Json } from "../../kernel/text/json.ts";
import type { RouteName } from "../server/routes.ts";
import type { JsonSchema } from "./typeboxToJsonSchema.ts";

export interface OpenApiHeader {
  readonly required: boolean;
  /** Of an object in a query: each member is a parameter of its own, `name[member]`. */
  readonly style?: "deepObject";
  /** False for a list: its items stand in one value, with commas between. True for an object. */
  readonly explode?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

/** A parameter of an operation, as the document names it. */
export interface OpenApiParameter extends OpenApiHeader {
  readonly name: string;
  readonly in: "path" | "query" | "header";
}

/** Bodies by their media type. */
export type OpenApiContent = Readonly<Record<string, OpenApiMediaType>>;

/** One body: its schema and examples, by name. */
export interface OpenApiMediaType {
  readonly schema: JsonSchema;
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}

export interface OpenApiResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, OpenApiHeader>>;
  readonly content?: OpenApiContent;
}

export interface OpenApiOperation {
  readonly operationId: RouteName;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly [string];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: {
    readonly description: string;
    readonly required: boolean;
    readonly content: OpenApiContent;
  };
  /** By status. */
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

/** A call that the service makes: what it sends, and what the answers to it mean. */
export interface OpenApiWebhook {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
  readonly security: readonly [];
  readonly parameters: readonly OpenApiParameter[];
  readonly requestBody: { readonly required: true; readonly content: OpenApiContent };
  /** By status, or by a class of statuses. */
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

/** An OpenAPI 3.1 document, as far as we use the format. */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: Readonly<Record<string, Json>> & { readonly title: string; readonly version: string };
  readonly jsonSchemaDialect: string;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  /** The service's webhook calls, by event type. */
  readonly webhooks: Readonly<Record<string, { readonly post: OpenApiWebhook }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Json;
  };
}

export interface AddressedOperation {
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}
