import type { TObject, TSchema } from "@sinclair/typebox";
import type { Json } from "../../kernel/text/json.ts";
import { DESCRIBED_AS } from "../body/commonSchemas.ts";
import type { Operation, OperationResponse } from "../server/operation.ts";
import { Problem } from "../server/problem.ts";
import { type ProblemCode, problemFacts } from "../server/problemCodes.ts";
import { problemBody } from "../server/problemResponse.ts";
import { type Route, routes } from "../server/routes.ts";
import { EXAMPLE_ID } from "./exampleValues.ts";
import type { OpenApiHeader, OpenApiMediaType, OpenApiResponse } from "./openApiTypes.ts";
import { type Schemas, sample } from "./schemaFields.ts";
import { answerSchema, type Components, type JsonSchema, jsonSchema } from "./typeboxToJsonSchema.ts";

const TITLES: Readonly<Record<OperationResponse["status"], string>> = {
  200: "Done",
  201: "Created",
  202: "Accepted",
  204: "Done; there is nothing to say",
  303: "Look elsewhere",
  304: "Not changed",
  404: "There is no such page",
  410: "The page is no longer there",
  503: "Not available",
};

const UNAVAILABLE_TITLE = "The operation could not be completed; it may work a little later";

type Headers = Record<string, OpenApiHeader>;

function header(required: boolean, description: string, pattern?: string): OpenApiHeader {
  return { required, description, schema: { type: "string", ...(pattern ? { pattern } : {}) } };
}

const REQUEST_ID = header(true, "Names this request in the service's log.", "^[0-9a-z]{20}$");
const RETRY_AFTER = header(true, "Seconds until it makes sense to ask again.", "^[1-9][0-9]*$");

const RATE_LIMIT: Headers = {
  RateLimit: header(false, "What is left of the rate limit, on an instance that has one."),
  "RateLimit-Policy": header(false, "The rate limit, on an instance that has one."),
};

function commonHeaders({ scope }: Route): Headers {
  return { "X-Request-Id": REQUEST_ID, ...(scope === null ? {} : RATE_LIMIT) };
}

/** How members are written that are not one text, by their type. */
const STYLES: Readonly<Record<string, Pick<OpenApiHeader, "style" | "explode">>> = {
  array: { explode: false },
  object: { style: "deepObject", explode: true },
};

/** The members of an object as the document describes headers and parameters. */
export function documentMembers(
  schema: TObject | undefined,
  components: Components,
): readonly (readonly [name: string, member: OpenApiHeader])[] {
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, [DESCRIBED_AS]: described, ...own } = jsonSchema(property, components);
    const required = schema?.required?.includes(name) ?? false;
    const told = typeof description === "string" ? { description } : {};
    const memberSchema = (described ?? own) as JsonSchema;
    return [name, { required, ...told, ...STYLES[String(memberSchema.type)], schema: memberSchema }];
  });
}

/** Whether the created resource can be read by itself: then the answer has a Location. */
function hasLocation({ path }: Route, status: number): boolean {
  const isCreation = status === 201 || status === 202;
  const isBelow = (other: string) =>
    other.startsWith(`${path}/:`) && !other.slice(path.length + 2).includes("/");
  return isCreation && Object.values(routes).some((other) => other.method === "GET" && isBelow(other.path));
}

function answer(
  route: Route,
  operation: Operation,
  told: OperationResponse,
  components: Components,
): OpenApiResponse {
  const { status, schema, contentType = "application/json", description = TITLES[status] } = told;
  const isRepeatable = operation.headers?.properties["Idempotency-Key"] !== undefined;
  const mediaType = contentType.split(";", 1)[0] as string;
  return {
    description,
    headers: {
      ...commonHeaders(route),
      ...(hasLocation(route, status) ? { Location: header(true, "Where it can be read.") } : {}),
      ...(isRepeatable && status < 300
        ? { "Idempotent-Replayed": header(false, "`true` when this repeats the first answer.", "^true$") }
        : {}),
      ...Object.fromEntries(documentMembers(told.headers, components)),
    },
    ...(schema === null ? {} : { content: { [mediaType]: media(mediaType, schema, components) } }),
  };
}

/** Adds an example to JSON bodies. */
function media(mediaType: string, schema: TSchema, components: Components): OpenApiMediaType {
  const told = answerSchema(schema, components);
  if (mediaType !== "application/json") return { schema: told };
  return { schema: told, example: sample(told, Object.fromEntries(components) as Schemas) };
}

/** The codes that an operation can answer: those of its kind, and its own. */
function codesOf({ scope, path }: Route, { body, multipart, problems }: Operation): readonly ProblemCode[] {
  const isGuarded: readonly ProblemCode[] =
    scope === null ? [] : ["UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED"];
  const isRead: readonly ProblemCode[] = body || multipart ? ["PAYLOAD_TOO_LARGE"] : [];
  const isStateful: readonly ProblemCode[] = scope !== null || path.includes(":") ? ["INTERNAL_ERROR"] : [];
  return [...new Set<ProblemCode>(["INVALID_REQUEST", ...isGuarded, ...isRead, ...problems, ...isStateful])];
}

function problemsByStatus(codes: readonly ProblemCode[]): ReadonlyMap<number, readonly ProblemCode[]> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const { status } = problemFacts(code);
    for (const one of code === "INTERNAL_ERROR" ? [500, 503] : [status]) {
      byStatus.set(one, [...(byStatus.get(one) ?? []), code]);
    }
  }
  return byStatus;
}

/** Retry-After is certain for statuses whose every code is temporary; otherwise optional, if some code is. */
function retryAfter(status: number, codes: readonly ProblemCode[]): Headers {
  if (status === 429 || status === 503) return { "Retry-After": RETRY_AFTER };
  const passing = codes.filter((code) => problemFacts(code).retryAfterSeconds !== undefined);
  return passing.length === 0 ? {} : { "Retry-After": { ...RETRY_AFTER, required: false } };
}

function problemExample(code: ProblemCode, status: number): Json {
  const unavailable = status === 503;
  return problemBody(
    new Problem(code, {
      ...(unavailable ? { unavailable, detail: UNAVAILABLE_TITLE } : {}),
      ...(code === "IDEMPOTENCY_CONFLICT" ? { emailId: EXAMPLE_ID } : {}),
    }),
    "0123456789abcdefghjk",
  );
}

/** A refusal with its status and its codes. `ProblemDetails` has neither: Kiota drops members that are told twice. */
function problemSchema(status: number, codes: readonly ProblemCode[]): JsonSchema {
  const code = codes.length === 1 ? { const: codes[0] as string } : { enum: codes };
  const properties = { status: { type: "integer", const: status }, code: { type: "string", ...code } };
  const own = { type: "object", required: ["status", "code"], properties };
  return { allOf: [{ $ref: "#/components/schemas/ProblemDetails" }, own] };
}

function problemAnswer(route: Route, status: number, codes: readonly ProblemCode[]): OpenApiResponse {
  const titles = codes.map(
    (code) => `${code}: ${status === 503 ? UNAVAILABLE_TITLE : problemFacts(code).title}`,
  );
  return {
    description: `${titles.join(".\n\n")}.`,
    headers: {
      ...commonHeaders(route),
      ...(status === 401 ? { "WWW-Authenticate": header(true, "`Bearer`.", "^Bearer$") } : {}),
      ...retryAfter(status, codes),
    },
    content: {
      "application/problem+json": {
        schema: problemSchema(status, codes),
        examples: Object.fromEntries(codes.map((code) => [code, { value: problemExample(code, status) }])),
      },
    },
  };
}

/** All answers of an operation, by status. */
export function answersOf(
  route: Route,
  operation: Operation,
  components: Components,
): Readonly<Record<string, OpenApiResponse>> {
  const answers: Record<string, OpenApiResponse> = {};
  for (const [status, codes] of problemsByStatus(codesOf(route, operation))) {
    answers[status] = problemAnswer(route, status, codes);
  }
  const own: Record<string, OpenApiResponse> = {};
  for (const told of [operation.success, ...(operation.also ?? [])]) {
    const one = answer(route, operation, told, components);
    // The same answer in another media type.
    const content = { ...own[told.status]?.content, ...one.content };
    own[told.status] = one.content === undefined ? one : { ...one, content };
  }
  return { ...answers, ...own };
}
