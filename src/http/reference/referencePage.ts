import { bodiesHtml, parametersHtml } from "./fieldsHtml.ts";
import type { OpenApiDocument, OpenApiWebhook } from "./openApiTypes.ts";
import { exampleHtml, operationHtml } from "./operationHtml.ts";
import { inline, prose } from "./proseHtml.ts";
import { REFERENCE_STYLE } from "./referenceStyle.ts";
import { SNIPPET_LANGUAGES } from "./requestSnippets.ts";
import { type Schemas, sample } from "./schemaFields.ts";

/** A section of the page and its line in the contents. */
interface Entry {
  readonly id: string;
  readonly title: string;
  /** The HTTP method, if it is an operation. */
  readonly method: string | null;
  readonly tag: string;
  readonly html: string;
}

/** Where the page finds its other files, as paths on this host. */
interface ReferenceLinks {
  readonly document: string;
  readonly script: string;
  readonly dashboard: string;
}

function operationEntries(document: OpenApiDocument, base: string): readonly Entry[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, operation]) => {
      const { operationId: id, summary: title, tags } = operation;
      const method = name.toUpperCase();
      const html = operationHtml({ method, path, operation }, document, base);
      return { id, title, method, tag: tags[0], html };
    }),
  );
}

function eventEntries({ webhooks, components }: OpenApiDocument): readonly Entry[] {
  return Object.entries(webhooks).map(([type, { post }]) => {
    const html = webhookHtml(type, post, components.schemas);
    return { id: post.operationId, title: type, method: null, tag: post.tags[0], html };
  });
}

function contentsOf(tag: string, entries: readonly Entry[]): string {
  const items = entries.map(({ id, title, method }) => {
    const mark =
      method === null ? "" : `<span class="method ${method.toLowerCase()}">${Bun.escapeHTML(method)}</span>`;
    return `<li><a href="#${Bun.escapeHTML(id)}"><span>${Bun.escapeHTML(title)}</span>${mark}</a></li>`;
  });
  return `<h2>${Bun.escapeHTML(tag)}</h2><ul>${items.join("")}</ul>`;
}

/** Radio buttons for the whole page: the style shows the examples of the chosen language. */
function languageChoice(): string {
  const choices = Object.entries(SNIPPET_LANGUAGES).map(
    ([language, name], index) =>
      `<input type="radio" name="language" id="in-${language}"${index === 0 ? " checked" : ""}><label class="${language}" for="in-${language}">${name}</label>`,
  );
  return `<fieldset class="languages"><legend>Examples in</legend>${choices.join("")}</fieldset>`;
}

/** The reference as one static page, made only from the document. */
export function referencePage(document: OpenApiDocument, links: ReferenceLinks): string {
  const { info, servers, tags } = document;
  const base = servers[0]?.url ?? "";
  const all = [...operationEntries(document, base), ...eventEntries(document)];
  const groups = tags.map(({ name, description = "" }) => ({
    name,
    description,
    entries: all.filter(({ tag }) => tag === name),
  }));
  const parts = groups.map(
    ({ name, description, entries }) =>
      `<div class="group"><h2>${Bun.escapeHTML(name)}</h2>${prose(description)}</div>${entries.map(({ html }) => html).join("")}`,
  );
  const title = `${Bun.escapeHTML(info.title)} ${Bun.escapeHTML(info.version)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: reference</title>
<style>${REFERENCE_STYLE}</style>
<script type="module" src="${Bun.escapeHTML(links.script)}"></script>
</head>
<body>
<a class="skip" href="#start">Skip to the text</a>
<nav aria-label="Contents">
<div class="brand"><strong>${Bun.escapeHTML(info.title)}</strong> <span class="soft">${Bun.escapeHTML(info.version)}</span>
<label class="menu" for="contents-shown">Contents</label></div>
<input type="checkbox" id="contents-shown" aria-label="Show the contents">
<div class="inside">
<div class="search" data-search-box hidden><input type="search" placeholder="Search" aria-label="Search" aria-keyshortcuts="/"><kbd>/</kbd>
<p role="status" class="soft"></p><ul></ul></div>
<div data-contents>
${groups.map(({ name, entries }) => contentsOf(name, entries)).join("\n")}
</div>
</div>
</nav>
<main id="start">
<div class="group first">
<h1>${Bun.escapeHTML(info.title)} API</h1>
<p class="soft">Version ${Bun.escapeHTML(info.version)} at <code>${Bun.escapeHTML(base)}</code>, also as
<a href="${Bun.escapeHTML(links.document)}">OpenAPI 3.1</a>. The <a href="${Bun.escapeHTML(links.dashboard)}">dashboard</a>
shows what became of each message.</p>
${prose(String(info.description ?? ""))}
<p>Send the API key with every request: <code>Authorization: Bearer &lt;API_KEY&gt;</code>.
Each operation names the scope that the key must hold. The examples take the key from the environment:</p>
<figure class="sample"><pre>export POSTLEDGER_API_KEY=&lt;API_KEY&gt;</pre></figure>
${languageChoice()}
</div>
${parts.join("\n")}
</main>
</body>
</html>
`;
}

function webhookHtml(type: string, webhook: OpenApiWebhook, schemas: Schemas): string {
  const { operationId, summary, requestBody, responses } = webhook;
  const answers = Object.entries(responses).map(
    ([status, { description }]) =>
      `<p><span class="status">${Bun.escapeHTML(status)}</span> ${inline(description)}</p>`,
  );
  const [{ schema } = { schema: {} }] = Object.values(requestBody.content);
  return `<section id="${Bun.escapeHTML(operationId)}" data-search="${Bun.escapeHTML(`${type} ${summary}`)}">
<div class="head">
<h3><a href="#${Bun.escapeHTML(operationId)}"><code>${Bun.escapeHTML(type)}</code></a></h3>
<div class="address"><span class="method post">POST</span> <span>to your endpoint</span></div>
<p>${inline(summary)}.</p>
</div>
<div class="shown">
${exampleHtml("Body", sample(schema, schemas))}
</div>
<div class="told">
${parametersHtml(webhook, schemas)}
${bodiesHtml(requestBody.content, schemas, "answer")}
<h4>Your answer</h4>
${answers.join("\n")}
</div>
</section>`;
}
