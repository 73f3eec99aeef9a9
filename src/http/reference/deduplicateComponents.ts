import type { Json } from "../../kernel/text/json.ts";
import type {
  OpenApiContent,
  OpenApiDocument,
  OpenApiMediaType,
  OpenApiOperation,
  OpenApiResponse,
} from "./openApiTypes.ts";

/** The kinds of components that repeat. */
type Kind = "examples" | "headers" | "parameters" | "responses";

/** Gives equal parts one name: the first keeps the plain name, different ones get numbers. */
class ComponentNames {
  private readonly byText = new Map<string, string>();
  readonly components: Readonly<Record<Kind, Record<string, Json>>> = {
    examples: {},
    headers: {},
    parameters: {},
    responses: {},
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

/** Names a problem's component by its codes; a success answer stays in its operation. */
function problemName(content: OpenApiContent): string | null {
  const examples = content["application/problem+json"]?.examples;
  return examples === undefined ? null : Object.keys(examples).join(".");
}

function compactAnswer(answer: OpenApiResponse, status: string, names: ComponentNames): unknown {
  const { headers, content = {} } = answer;
  const compact = {
    ...answer,
    headers: mapValues(headers, (header, name) => names.share("headers", name, header)),
    ...(answer.content === undefined
      ? {}
      : { content: mapValues(content, (media) => compactMedia(media, status, names)) }),
  };
  const name = problemName(content);
  return name === null ? compact : names.share("responses", `${status}.${name}`, compact);
}

function compactMedia(media: OpenApiMediaType, status: string, names: ComponentNames): unknown {
  if (media.examples === undefined) return media;
  const examples = mapValues(media.examples, (example, code) =>
    names.share("examples", `${status}.${code}`, example),
  );
  return { ...media, examples };
}

function compactOperation(operation: OpenApiOperation, names: ComponentNames): unknown {
  const responses = mapValues(operation.responses, (one, status) => compactAnswer(one, status, names));
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
  return { ...document, paths, webhooks, components: { ...document.components, ...names.components } };
}
