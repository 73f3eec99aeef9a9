import type { ErrorObject, ValidateFunction } from "ajv";
import Ajv2020 from "ajv/dist/2020";
import { operations } from "../../src/http/reference/allOperations.ts";
import { documentPath, openApiDocument } from "../../src/http/reference/openApiDocument.ts";
import type { OpenApiOperation, OpenApiResponse } from "../../src/http/reference/openApiTypes.ts";
import { type JsonSchema, jsonSchema } from "../../src/http/reference/typeboxToJsonSchema.ts";
import { ProblemBody } from "../../src/http/server/problemResponse.ts";
import { methodsOf, pathPattern } from "../../src/http/server/routeMatching.ts";
import { type Route, type RouteName, routes } from "../../src/http/server/routes.ts";
import { isUuid } from "../../src/kernel/ids.ts";

/** The document of a service with the program that is tested; only `servers` depends on its settings. */
export const document = openApiDocument({
  operations,
  baseUrl: new URL("http://localhost"),
  version: "test",
});

/** An answer as far as the document speaks of it. */
export interface SeenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** An operation that the document describes, and where in it. */
export interface Described {
  readonly name: RouteName;
  readonly method: string;
  /** As the document writes it: `/api/v1/emails/{id}`. */
  readonly path: string;
  readonly pattern: RegExp;
  readonly operation: OpenApiOperation;
}

const DATE_TIME = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?Z$/;
const ID = "openapi.json";
const PROBLEM = jsonSchema(ProblemBody, new Map());

const ajv = new Ajv2020({
  strict: false,
  // An OpenAPI document is no schema itself, so there is nothing to check, and compiling the meta-schema is slow.
  validateSchema: false,
  // A check is compiled for a few answers of one test process: what is compiled sooner counts for more than what runs sooner.
  inlineRefs: false,
  code: { optimize: false },
  formats: {
    uuid: isUuid,
    "date-time": DATE_TIME,
    email: /^[^\s@]+@[^\s@]+$/,
    uri: (text) => URL.canParse(text),
  },
});
ajv.addSchema({ components: { schemas: closed(document.components.schemas) } }, ID);

/**
 * A part of the document that takes no members but those that it describes: callers have to ignore what a later release
 * adds, and tests must not. An object that says itself that it is open stays so.
 */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== "object" || part === null) return part;
  const { allOf, ...schema } = part as JsonSchema;
  if (allOf !== undefined) return closed(wholeOf(allOf as readonly JsonSchema[]));
  const isOpen = typeof schema.properties !== "object" || schema.additionalProperties !== undefined;
  const members = Object.entries(schema).map(([name, member]) => [name, closed(member)]);
  return { ...Object.fromEntries(members), ...(isOpen ? {} : { additionalProperties: false }) };
}

/** An object that the document tells in parts: each of them closed would refuse the members of the others. */
function wholeOf(parts: readonly JsonSchema[]): JsonSchema {
  const schemas = parts.map(
    (part) => document.components.schemas[String(part.$ref).split("/").at(-1) ?? ""] ?? part,
  );
  const required = schemas.flatMap((schema) => (schema.required ?? []) as readonly string[]);
  const properties = Object.assign({}, ...schemas.map((schema) => schema.properties));
  return { type: "object", required, properties };
}

/** Every operation of the document. */
export const described: readonly Described[] = Object.entries(
  routes as Readonly<Record<string, Route>>,
).flatMap(([name, { method, path }]) => {
  const at = documentPath(path);
  const operation = document.paths[at]?.[method.toLowerCase()];
  const pattern = pathPattern(path);
  return operation ? [{ name: name as RouteName, method, path: at, pattern, operation }] : [];
});

/** The operation that answers `method` at `path` (below BASE_URL, with or without a query); undefined for none. */
export function describedOf(method: string, path: string): Described | undefined {
  const asked = method === "HEAD" ? "GET" : method;
  const [only = ""] = path.split(/[?#]/, 1);
  return described.find((one) => one.method === asked && one.pattern.test(only));
}

/** The codes that an answer can carry by the document; none where it is no problem. */
export function codesOf(answer: OpenApiResponse): readonly string[] {
  return Object.keys(answer.content?.["application/problem+json"]?.examples ?? {});
}

/** By the schema, and by its text: hundreds of answers have a schema that others have, too. */
const checks = new Map<object | string, ValidateFunction>();

function checkOf(schema: object): ValidateFunction {
  let check = checks.get(schema);
  if (!check) {
    const text = JSON.stringify(closed(schema)).replaceAll('"$ref":"#/', `"$ref":"${ID}#/`);
    check = checks.get(text) ?? ajv.compile(JSON.parse(text) as object);
    checks.set(schema, check).set(text, check);
  }
  return check;
}

/** `schema` is a part of the document, or like one. */
function schemaFault(schema: object | undefined, value: unknown): string | null {
  if (schema === undefined) return "has no schema";
  const check = checkOf(schema);
  if (check(value)) return null;
  const errors = (check.errors ?? []).map(
    ({ instancePath, message, params }: ErrorObject) =>
      `${instancePath || "the body"} ${message} ${JSON.stringify(params)}`,
  );
  return errors.slice(0, 5).join("; ");
}

function headersFault({ headers }: OpenApiResponse, seen: Headers): string | null {
  for (const [name, { required, schema }] of Object.entries(headers)) {
    const value = seen.get(name);
    if (value === null && required) return `has no ${name} header`;
    if (value !== null && typeof schema.pattern === "string" && !new RegExp(schema.pattern).test(value)) {
      return `has a ${name} header that does not match ${schema.pattern}`;
    }
  }
  return null;
}

function bodyFault(method: string, content: OpenApiResponse["content"], seen: SeenAnswer) {
  const mediaType = (seen.headers.get("content-type") ?? "").split(";", 1)[0] as string;
  if (method === "HEAD" || content === undefined) return seen.text === "" ? null : "has a body";
  const documented = content[mediaType];
  if (documented === undefined) return `has the undocumented media type "${mediaType}"`;
  const isJson = /json$/.test(mediaType);
  let value: unknown = seen.text;
  try {
    if (isJson) value = JSON.parse(seen.text);
  } catch {
    return "has a body that is not JSON";
  }
  return schemaFault(documented.schema, value);
}

/** What is wrong with the answer to a request that no operation takes: it must be a 404, or a 405 with Allow. */
function unroutedFault(method: string, path: string, seen: SeenAnswer): string | null {
  const methods = methodsOf(path.split(/[?#]/, 1)[0] as string);
  const expected = methods.length === 0 ? 404 : 405;
  if (seen.status !== expected) return `is not ${expected}`;
  if (expected === 405 && seen.headers.get("allow") === null) return "has no Allow header";
  if (method === "HEAD") return null;
  const mediaType = seen.headers.get("content-type");
  if (mediaType !== "application/problem+json") return `has the media type "${mediaType}"`;
  return schemaFault(PROBLEM, JSON.parse(seen.text));
}

/** Why a call to an endpoint is not what the document says of events of this type; null when it is. */
export function webhookFault(type: string, seen: Pick<SeenAnswer, "headers" | "text">): string | null {
  const documented = document.webhooks[type]?.post;
  if (!documented) return `has the undocumented type ${type}`;
  for (const { name, schema } of documented.parameters) {
    const value = seen.headers.get(name);
    if (value === null) return `has no ${name} header`;
    if (typeof schema.pattern === "string" && !new RegExp(schema.pattern).test(value)) {
      return `has a ${name} header that does not match ${schema.pattern}`;
    }
  }
  return schemaFault(documented.requestBody.content["application/json"]?.schema, JSON.parse(seen.text));
}

/** Why an answer is not what the document says of the request; null when it is. */
export function answerFault(method: string, path: string, seen: SeenAnswer): string | null {
  const found = describedOf(method, path);
  if (!found) return unroutedFault(method, path, seen);
  const documented = found.operation.responses[seen.status];
  // The method is documented, so the path takes it: only a handler that is missing leaves it unanswered.
  if (seen.status === 405)
    return `means that nothing answers ${found.name}: add a handler to its controller, and a new controller to src/service/httpControllers.ts`;
  if (!documented) return `has the undocumented status ${seen.status}`;
  return headersFault(documented, seen.headers) ?? bodyFault(method, documented.content, seen);
}

/** Why an example of an answer is not what its schema says; null when it is. */
export function exampleFault(
  one: Described,
  status: string,
  mediaType: string,
  example: unknown,
): string | null {
  return schemaFault(one.operation.responses[status]?.content?.[mediaType]?.schema, example);
}
