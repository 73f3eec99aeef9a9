import { escapeHtml, inline, prose } from "../server/html.ts";
import { type ProblemCode, problemFacts } from "../server/problemCodes.ts";
import type { DocumentAnswer, DocumentContent, DocumentOperation, OpenApiDocument } from "./openApiTypes.ts";
import { type Field, fieldsOf, type Schemas, sample, typeText } from "./schemaFields.ts";
import type { JsonSchema } from "./typeboxToJsonSchema.ts";

/** An operation with its address. */
export interface AddressedOperation {
  /** In capitals. */
  readonly method: string;
  readonly path: string;
  readonly operation: DocumentOperation;
}

const PROBLEM = "application/problem+json";

function table(head: readonly string[], rows: readonly string[]): string {
  if (rows.length === 0) return "";
  const cells = head.map((title) => `<th scope="col">${escapeHtml(title)}</th>`).join("");
  return `<div class="wide"><table><thead><tr>${cells}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

const MUST = ' <span class="must">required</span>';

function fieldRow({ name, depth, type, required, description }: Field): string {
  const must = required ? MUST : "";
  return `<tr><td class="d${depth}"><code>${escapeHtml(name)}</code>${must}</td><td><code>${escapeHtml(type)}</code></td><td>${inline(description)}</td></tr>`;
}

/** The parameters of an operation, or the headers of a call that the service makes. */
export function parameters(
  { parameters: all = [] }: Pick<DocumentOperation, "parameters">,
  schemas: Schemas,
): string {
  const rows = all.map(({ name, in: place, required, description = "", schema }) =>
    fieldRow({ name, depth: 0, type: `${place}: ${typeText(schema, schemas)}`, required, description }),
  );
  return rows.length === 0 ? "" : `<h4>Parameters</h4>${table(["Name", "Type", "Meaning"], rows)}`;
}

function fields(schema: JsonSchema, schemas: Schemas): string {
  const rows = fieldsOf(schema, schemas).map(fieldRow);
  if (rows.length === 0) return `<p><code>${escapeHtml(typeText(schema, schemas))}</code></p>`;
  return table(["Field", "Type", "Meaning"], rows);
}

/** The fields of a body, in each of its media types. */
export function bodies(content: DocumentContent, schemas: Schemas): string {
  return Object.entries(content)
    .map(([type, { schema }]) => `<h4>Body: <code>${escapeHtml(type)}</code></h4>${fields(schema, schemas)}`)
    .join("");
}

function headerRows({ headers }: DocumentAnswer): readonly string[] {
  return Object.entries(headers).map(([name, { required, description = "", schema }]) =>
    fieldRow({ name, depth: 0, type: typeText(schema, {}), required, description }),
  );
}

function answer(status: string, told: DocumentAnswer, schemas: Schemas): string {
  const content = Object.entries(told.content ?? {});
  const types = content.map(([type]) => `<code>${escapeHtml(type)}</code>`).join(", ");
  const body = content.map(([, { schema }]) => fields(schema, schemas)).join("");
  const headers = `<h4>Headers</h4>${table(["Header", "Type", "Meaning"], headerRows(told))}`;
  return `<details><summary><strong>${escapeHtml(status)}</strong> ${inline(told.description)} ${types}</summary>${body}${headers}</details>`;
}

function codesOf(told: DocumentAnswer): readonly ProblemCode[] {
  const parts = told.content?.[PROBLEM]?.schema.allOf as readonly JsonSchema[] | undefined;
  const code = (parts?.[1]?.properties as { readonly code?: JsonSchema } | undefined)?.code;
  return (code?.enum ?? []) as readonly ProblemCode[];
}

function problemRows(responses: DocumentOperation["responses"]): readonly string[] {
  return Object.entries(responses).flatMap(([status, told]) =>
    codesOf(told).map(
      (code) =>
        `<tr><td>${escapeHtml(status)}</td><td><code>${escapeHtml(code)}</code></td><td>${escapeHtml(problemFacts(code).title)}</td></tr>`,
    ),
  );
}

/** Text as one word for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function curl({ method, path, operation }: AddressedOperation, schemas: Schemas, base: string): string {
  const shown = path.replace(/\{([a-z_]+)\}/g, (_, name: string) => name.toUpperCase());
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(base + shown)}`];
  if (operation.security.length > 0) lines.push('-H "Authorization: Bearer $POSTLEDGER_API_KEY"');
  for (const { name, in: place, required } of operation.parameters ?? []) {
    if (place === "header" && required) lines.push(`-H ${quoted(`${name}: order-1042`)}`);
  }
  const json = operation.requestBody?.content["application/json"]?.schema;
  const form = operation.requestBody?.content["multipart/form-data"]?.schema;
  if (json) {
    lines.push("-H 'Content-Type: application/json'");
    lines.push(`-d ${quoted(JSON.stringify(sample(json, schemas), null, 2))}`);
  } else if (form) {
    lines.push("-F 'file=@report.pdf'");
  }
  return `<h4>Example</h4><pre>${escapeHtml(lines.join(" \\\n  "))}</pre>`;
}

/** One operation as a section of the reference page. */
export function operationHtml(one: AddressedOperation, document: OpenApiDocument, base: string): string {
  const { method, path, operation } = one;
  const { schemas } = document.components;
  const scope = operation.security[0]?.apiKey?.[0];
  const needs = scope === undefined ? "no key" : `scope <code>${escapeHtml(scope)}</code>`;
  const answers = Object.entries(operation.responses);
  const wells = answers.filter(([, told]) => told.content?.[PROBLEM] === undefined);
  const problems = problemRows(operation.responses);
  return `<section id="${escapeHtml(operation.operationId)}">
<h3>${escapeHtml(operation.summary)}</h3>
<div class="address"><span class="method ${method.toLowerCase()}">${escapeHtml(method)}</span>
<code>${escapeHtml(path)}</code> <span class="soft">${needs}</span></div>
${prose(operation.description ?? "")}
${parameters(operation, schemas)}
${prose(operation.requestBody?.description ?? "")}
${bodies(operation.requestBody?.content ?? {}, schemas)}
<h4>Answers</h4>
${wells.map(([status, told]) => answer(status, told, schemas)).join("\n")}
${problems.length > 0 ? `<h4>Problems</h4>${table(["Status", "Code", "Condition"], problems)}` : ""}
${curl(one, schemas, base)}
</section>`;
}
