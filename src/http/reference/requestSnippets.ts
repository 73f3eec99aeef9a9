import { shellQuoted } from "../../kernel/text/cliInvocation.ts";
import type { Json } from "../../kernel/text/json.ts";
import type { AddressedOperation, OpenApiParameter } from "./openApiTypes.ts";
import { type Schemas, sample } from "./schemaFields.ts";

/** The languages of request examples, with their names on the page. */
export const SNIPPET_LANGUAGES = {
  curl: "curl",
  js: "JavaScript",
  python: "Python",
  php: "PHP",
} as const;

export type SnippetLanguage = keyof typeof SNIPPET_LANGUAGES;

interface ShownRequest {
  readonly method: string;
  readonly url: string;
  readonly needsKey: boolean;
  /** Besides Authorization. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined if there is none. */
  readonly body: Json | undefined;
  /** Whether the answer is JSON. */
  readonly isJson: boolean;
}

const INDENT = "    ";

/** The lines that apply. */
function lines(...given: readonly (string | false)[]): readonly string[] {
  return given.filter((line) => line !== false);
}

function indented(text: string, indent: string): string {
  return text.replaceAll("\n", `\n${indent}`);
}

function exampleOf({ name, schema }: OpenApiParameter, schemas: Schemas): string {
  return String(sample(schema, schemas, { name }));
}

function shownRequest({ method, path, operation }: AddressedOperation, schemas: Schemas, base: string) {
  const { parameters = [], requestBody, responses, security } = operation;
  const values = new Map(parameters.map((one) => [one.name, exampleOf(one, schemas)]));
  const shownPath = path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(values.get(name) ?? name),
  );
  // Of a list, the example shows all there is. What changes things may be refused without a filter.
  const shownQuery = parameters
    .filter(({ in: place, schema }) => method !== "GET" && place === "query" && schema.examples !== undefined)
    .map(({ name }) => [name, values.get(name) ?? ""] as const);
  const query = shownQuery.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(shownQuery))}`;
  const json = requestBody?.content["application/json"]?.schema;
  const [success] = Object.entries(responses).filter(([status]) => Number(status) < 300);
  return {
    method,
    url: base + shownPath + query,
    needsKey: security.length > 0,
    headers: [
      ...parameters
        .filter(({ in: place, required }) => place === "header" && required)
        .map((one) => [one.name, exampleOf(one, schemas)] as const),
      ...(json === undefined ? [] : [["Content-Type", "application/json"] as const]),
    ],
    body: json === undefined ? undefined : sample(json, schemas),
    isJson: success?.[1].content?.["application/json"] !== undefined,
  } satisfies ShownRequest;
}

function curl({ method, url, needsKey, headers, body }: ShownRequest): string {
  return lines(
    `curl ${method === "GET" ? "" : `-X ${method} `}${shellQuoted(url)}`,
    needsKey && '-H "Authorization: Bearer $POSTLEDGER_API_KEY"',
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    body !== undefined && `-d ${shellQuoted(JSON.stringify(body, null, 2))}`,
  ).join(" \\\n  ");
}

/** JSON is also a JavaScript literal. */
function javascript({ method, url, needsKey, headers, body, isJson }: ShownRequest): string {
  const hasHeaders = needsKey || headers.length > 0;
  const members = lines(
    method !== "GET" && `method: ${JSON.stringify(method)},`,
    hasHeaders && "headers: {",
    needsKey && `  Authorization: \`Bearer \${process.env.POSTLEDGER_API_KEY}\`,`,
    ...headers.map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    hasHeaders && "},",
    body !== undefined && `body: JSON.stringify(${indented(JSON.stringify(body, null, 2), "  ")}),`,
  );
  const options = members.length === 0 ? "" : `, {\n  ${members.join("\n  ")}\n}`;
  const shown = isJson ? "response.status, await response.json()" : "response.status";
  return `const response = await fetch(${JSON.stringify(url)}${options});\nconsole.log(${shown});`;
}

/** A JSON value as a Python literal; Python strings know the same escapes. */
function pythonLiteral(value: Json): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map(pythonLiteral)
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${pythonLiteral(member)}`);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  return `${open}\n${INDENT}${items.map((item) => indented(item, INDENT)).join(`,\n${INDENT}`)},\n${close}`;
}

function python({ method, url, needsKey, headers, body, isJson }: ShownRequest): string {
  const entries = lines(
    needsKey && `"Authorization": f"Bearer {os.environ['POSTLEDGER_API_KEY']}",`,
    ...headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},`),
  );
  const dumped = body === undefined ? "" : `json.dumps(${indented(pythonLiteral(body), INDENT)}).encode()`;
  const modules = lines((isJson || body !== undefined) && "json", needsKey && "os");
  return lines(
    modules.length > 0 && `import ${modules.join(", ")}`,
    "from urllib.request import Request, urlopen",
    "",
    "request = Request(",
    `${INDENT}${JSON.stringify(url)},`,
    method !== "GET" && `${INDENT}method=${JSON.stringify(method)},`,
    entries.length > 0 && `${INDENT}headers={`,
    ...entries.map((entry) => INDENT + INDENT + entry),
    entries.length > 0 && `${INDENT}},`,
    body !== undefined && `${INDENT}data=${dumped},`,
    ")",
    "with urlopen(request) as response:",
    `${INDENT}print(response.status${isJson ? ", json.load(response)" : ""})`,
  ).join("\n");
}

/** Text as a PHP literal without interpolation. */
function phpLiteral(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** The body is a nowdoc, which interpolates nothing; no line of JSON begins with its end marker. */
function php({ method, url, needsKey, headers, body }: ShownRequest): string {
  const fields = lines(
    needsKey && "'Authorization: Bearer ' . getenv('POSTLEDGER_API_KEY'),",
    ...headers.map(([name, value]) => `${phpLiteral(`${name}: ${value}`)},`),
  );
  const inner = INDENT + INDENT;
  return lines(
    "<?php",
    `$request = curl_init(${phpLiteral(url)});`,
    "curl_setopt_array($request, [",
    method !== "GET" && `${INDENT}CURLOPT_CUSTOMREQUEST => ${phpLiteral(method)},`,
    `${INDENT}CURLOPT_RETURNTRANSFER => true,`,
    fields.length > 0 && `${INDENT}CURLOPT_HTTPHEADER => [`,
    ...fields.map((field) => inner + field),
    fields.length > 0 && `${INDENT}],`,
    body !== undefined && `${INDENT}CURLOPT_POSTFIELDS => <<<'JSON'`,
    body !== undefined && `${inner}${indented(JSON.stringify(body, null, 2), inner)}\n${inner}JSON,`,
    "]);",
    "$answer = curl_exec($request);",
    "echo curl_getinfo($request, CURLINFO_RESPONSE_CODE), ' ', $answer;",
  ).join("\n");
}

const WRITERS: Readonly<Record<SnippetLanguage, (request: ShownRequest) => string>> = {
  curl,
  js: javascript,
  python,
  php,
};

/**
 * An operation's request as code that works unchanged, in each language, with example values. The key comes from the
 * environment. `base` is the service's URL.
 */
export function requestSnippets(
  one: AddressedOperation,
  schemas: Schemas,
  base: string,
): Readonly<Record<SnippetLanguage, string>> {
  const request = shownRequest(one, schemas, base);
  const written = Object.entries(WRITERS).map(([language, write]) => [language, write(request)]);
  return Object.fromEntries(written) as Record<SnippetLanguage, string>;
}
