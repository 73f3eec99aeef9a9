import type { Json } from "../../kernel/text/json.ts";
import { type ProblemCode, problemFacts } from "../server/problemCodes.ts";
import { codeHtml } from "./codeHtml.ts";
import { bodiesHtml, fieldList, fieldsHtml, parametersHtml } from "./fieldsHtml.ts";
import type {
  AddressedOperation,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiResponse,
} from "./openApiTypes.ts";
import { inline, prose } from "./proseHtml.ts";
import { requestSnippets, SNIPPET_LANGUAGES, type SnippetLanguage } from "./requestSnippets.ts";
import { fieldOf, type Schemas } from "./schemaFields.ts";

const PROBLEM = "application/problem+json";
const COPY = '<button type="button" data-copy hidden>Copy</button>';

export function exampleHtml(title: string, value: Json): string {
  const code = codeHtml(JSON.stringify(value, null, 2));
  return `<figure class="sample"><figcaption><span>${title}</span>${COPY}</figcaption><pre tabindex="0">${code}</pre></figure>`;
}

/** The request in each language. Radio buttons choose the language for the whole page. */
function snippetsHtml(one: AddressedOperation, schemas: Schemas, base: string): string {
  const snippets = Object.entries(requestSnippets(one, schemas, base));
  const labels = snippets.map(
    ([language]) =>
      `<label class="${language}" for="in-${language}">${SNIPPET_LANGUAGES[language as SnippetLanguage]}</label>`,
  );
  const code = snippets.map(
    ([language, text]) => `<pre class="${language}" tabindex="0">${codeHtml(text)}</pre>`,
  );
  return `<figure class="sample request"><figcaption><span class="languages">${labels.join("")}</span>${COPY}</figcaption>${code.join("")}</figure>`;
}

function statusHtml(status: string): string {
  return `<span class="status s${Bun.escapeHTML(status.slice(0, 1))}">${Bun.escapeHTML(status)}</span>`;
}

function answerHtml(status: string, response: OpenApiResponse, schemas: Schemas): string {
  const content = Object.entries(response.content ?? {});
  const types = content.map(([type]) => `<code class="media">${Bun.escapeHTML(type)}</code>`).join(" ");
  const headers = Object.entries(response.headers).map(([name, header]) => fieldOf(name, header, {}));
  const body = content.map(([, { schema }]) => fieldsHtml(schema, schemas, "answer")).join("");
  return `<details><summary>${statusHtml(status)} ${inline(response.description)} ${types}</summary>${body}<h5>Headers</h5>${fieldList(headers, "answer")}</details>`;
}

function answerExamples(status: string, { content = {} }: OpenApiResponse): readonly string[] {
  return Object.values(content).flatMap(({ example }) =>
    example === undefined ? [] : [exampleHtml(`Answer ${statusHtml(status)}`, example)],
  );
}

/** A likely first mistake of a caller: a missing field, or a parameter of a list. */
function likelyFault({ requestBody, parameters = [] }: OpenApiOperation) {
  const [field] = (requestBody?.content["application/json"]?.schema.required ?? []) as readonly string[];
  if (field !== undefined) return { pointer: `/${field}`, message: "is required" };
  if (!parameters.some(({ name }) => name === "limit")) return null;
  return { pointer: "/limit", message: "must be a whole number from 1 to 100" };
}

function problemValue(code: string, value: Json, operation: OpenApiOperation): Json {
  const fault = code === "INVALID_REQUEST" ? likelyFault(operation) : null;
  if (fault === null) return value;
  const body = value as { readonly [member: string]: Json };
  return { ...body, detail: `${fault.pointer}: ${fault.message}`, errors: [fault] };
}

function problemsHtml(operation: OpenApiOperation): string {
  const problems = Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content[PROBLEM]?.examples ?? {}).map(([code, { value }]) => {
      const { title } = problemFacts(code as ProblemCode);
      const example = Bun.escapeHTML(JSON.stringify(problemValue(code, value, operation), null, 2));
      return `<details><summary>${statusHtml(status)} <code>${Bun.escapeHTML(code)}</code> <span class="soft">${Bun.escapeHTML(title)}</span></summary><pre tabindex="0">${example}</pre></details>`;
    }),
  );
  return problems.length === 0 ? "" : `<h4>Problems</h4><div class="problems">${problems.join("")}</div>`;
}

/** One operation as a section of the reference page. `base` is the service's URL. */
export function operationHtml(one: AddressedOperation, document: OpenApiDocument, base: string): string {
  const { method, path, operation } = one;
  const { schemas } = document.components;
  const scopes = operation.security.flatMap(({ apiKey = [] }) => apiKey);
  const either = scopes.map((scope) => `<code>${Bun.escapeHTML(scope)}</code>`).join(" or ");
  const needs = scopes.length === 0 ? "No key" : `Scope ${either}`;
  const answers = Object.entries(operation.responses).filter(([, { content }]) => !content?.[PROBLEM]);
  const words = `${method} ${path} ${operation.operationId} ${operation.description ?? ""}`;
  return `<section id="${Bun.escapeHTML(operation.operationId)}" data-search="${Bun.escapeHTML(words)}">
<div class="head">
<h3><a href="#${Bun.escapeHTML(operation.operationId)}">${Bun.escapeHTML(operation.summary)}</a></h3>
<div class="address"><span class="method ${method.toLowerCase()}">${Bun.escapeHTML(method)}</span> <code>${Bun.escapeHTML(path)}</code></div>
<p class="needs">${needs}</p>
${prose(operation.description ?? "")}
</div>
<div class="shown">
${snippetsHtml(one, schemas, base)}
${answers.flatMap(([status, response]) => answerExamples(status, response)).join("\n")}
</div>
<div class="told">
${parametersHtml(operation, schemas)}
${bodiesHtml(operation.requestBody?.content ?? {}, schemas, "request")}
${operation.requestBody === undefined ? "" : `<p class="soft">${inline(operation.requestBody.description)}</p>`}
<h4>Answers</h4>
<div class="answers">${answers.map(([status, response]) => answerHtml(status, response, schemas)).join("\n")}</div>
${problemsHtml(operation)}
</div>
</section>`;
}
