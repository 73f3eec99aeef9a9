import type { Json } from "../../kernel/text/json.ts";
import type { RouteName } from "../server/routes.ts";
import type { JsonSchema } from "./typeboxToJsonSchema.ts";

/** A parameter of an operation, as the document names it. */
export interface DocumentParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

export interface DocumentHeader {
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

/** Bodies by their media type. */
export type DocumentContent = Readonly<Record<string, DocumentMedia>>;

/** One body: its schema, and what it may look like. `examples` are by the name of each. */
export interface DocumentMedia {
  readonly schema: JsonSchema;
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}

export interface DocumentAnswer {
  readonly description: string;
  readonly headers: Readonly<Record<string, DocumentHeader>>;
  readonly content?: DocumentContent;
}

export interface DocumentOperation {
  readonly operationId: RouteName;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly [string];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly DocumentParameter[];
  readonly requestBody?: {
    readonly description: string;
    readonly required: boolean;
    readonly content: DocumentContent;
  };
  /** By status. */
  readonly responses: Readonly<Record<string, DocumentAnswer>>;
}

/** A call that the service makes, as the document describes it: what it sends, and what its answers mean. */
export interface DocumentWebhook {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
  readonly security: readonly [];
  readonly parameters: readonly DocumentParameter[];
  readonly requestBody: { readonly required: true; readonly content: DocumentContent };
  /** By status, or by a class of them. */
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

/** An OpenAPI 3.1 document, as far as we use the format. */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: Readonly<Record<string, Json>> & { readonly title: string; readonly version: string };
  readonly jsonSchemaDialect: string;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  /** What the service calls endpoints with, by the type of event. */
  readonly webhooks: Readonly<Record<string, { readonly post: DocumentWebhook }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Json;
  };
}

/** An operation with its address. */
export interface AddressedOperation {
  /** In capitals. */
  readonly method: string;
  readonly path: string;
  readonly operation: DocumentOperation;
}
