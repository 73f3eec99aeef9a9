import { capitalized, pascalCase } from "../../kernel/text/capitalized.ts";
import type { Json } from "../../kernel/text/json.ts";
import { type ProblemCode, problemFacts } from "../server/problemCodes.ts";
import type { OpenApiDocument, OpenApiMediaType, OpenApiOperation, OpenApiResponse } from "./openApiTypes.ts";

/** Statuses that several codes have, or another status of the same code, in names of generated code. */
const STATUS_NAMES: Readonly<Record<string, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  413: "TooLarge",
  422: "Unprocessable",
  429: "TooManyRequests",
  503: "ServiceUnavailable",
};

/** The kinds of components that repeat. */
type Kind = "examples" | "headers" | "parameters" | "responses" | "schemas";

/** Gives equal parts one name: the first keeps the plain name, different ones get numbers. */
class ComponentNames {
  private readonly byText = new Map<string, string>();
  readonly components: Readonly<Record<Kind, Record<string, Json>>> = {
    examples: {},
    headers: {},
    parameters: {},
    responses: {},
    schemas: {},
  };

  /** A reference to the component that equals `part`. */
  share(kind: Kind, wanted: string, part: object): Json {
    const text = kind + JSON.stringify(part);
    const named = this.components[kind];
    const name = this.byText.getOrInsertComputed(text, () => freeName(wanted, named));
    named[name] ??= part as Json;
    return { $ref: `#/components/${kind}/${name}` };
  }

  /** An operation, or a call that the service makes, with references in place of its parameters. */
  withParameters<Of extends Pick<OpenApiOperation, "parameters">>(operation: Of): object {
    const { parameters } = operation;
    if (parameters === undefined) return operation;
    const shared = parameters.map((one) => this.share("parameters", `${one.in}.${one.name}`, one));
    return { ...operation, parameters: shared };
  }
}

function freeName(wanted: string, taken: Readonly<Record<string, unknown>>): string {
  if (!Object.hasOwn(taken, wanted)) return wanted;
  let number = 2;
  while (Object.hasOwn(taken, wanted + number)) number += 1;
  return wanted + number;
}

function mapValues<Value>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => unknown,
) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

/**
 * The name of a problem in generated code: that of its only code; else of its status, and of the first operation with
 * these codes, so that a further code leaves the name as it is. Null for an answer that is no problem.
 */
function problemName(operationId: string, status: string, { content }: OpenApiResponse): string | null {
  const examples = content?.["application/problem+json"]?.examples;
  if (examples === undefined) return null;
  const [code, ...others] = Object.keys(examples) as ProblemCode[];
  const reason = STATUS_NAMES[status] ?? status;
  if (code === undefined || others.length > 0) return capitalized(operationId) + reason;
  return problemFacts(code).status === Number(status) ? pascalCase(code) : reason;
}

function compactProblem(media: OpenApiMediaType, name: string, status: string, names: ComponentNames) {
  const examples = mapValues(media.examples ?? {}, (example, code) =>
    names.share("examples", `${status}.${code}`, example),
  );
  return { schema: names.share("schemas", `${name}Problem`, media.schema), examples };
}

function compactAnswer(
  answer: OpenApiResponse,
  status: string,
  operation: OpenApiOperation,
  names: ComponentNames,
): unknown {
  const headers = mapValues(answer.headers, (header, name) => names.share("headers", name, header));
  const name = problemName(operation.operationId, status, answer);
  if (name === null) return { ...answer, headers };
  const content = mapValues(answer.content ?? {}, (media) => compactProblem(media, name, status, names));
  return names.share("responses", name, { ...answer, headers, content });
}

function compactOperation(operation: OpenApiOperation, names: ComponentNames): unknown {
  const responses = mapValues(operation.responses, (one, status) =>
    compactAnswer(one, status, operation, names),
  );
  return { ...names.withParameters(operation), responses };
}

/**
 * The document as served: parameters, headers, problems and their examples appear once in `components`, and
 * operations refer to them. Following all references gives the original document.
 */
export function deduplicateComponents(document: OpenApiDocument): unknown {
  const names = new ComponentNames();
  const paths = mapValues(document.paths, (methods) =>
    mapValues(methods, (operation) => compactOperation(operation, names)),
  );
  const webhooks = mapValues(document.webhooks, ({ post }) => ({ post: names.withParameters(post) }));
  const { schemas, ...others } = document.components;
  const components = {
    ...others,
    ...names.components,
    schemas: { ...schemas, ...names.components.schemas },
  };
  return { ...document, paths, webhooks, components };
}
