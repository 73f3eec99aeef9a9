import { escapeHtml, prose } from "../server/html.ts";
import type { OpenApiDocument } from "./openApiTypes.ts";
import { operationHtml } from "./operationHtml.ts";
import { DOCS_STYLE } from "./pageStyles.ts";
import { webhookHtml } from "./webhookHtml.ts";

/** A section of the page, and the line that leads to it. */
interface Entry {
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  readonly html: string;
}

function operationEntries(document: OpenApiDocument, base: string): readonly Entry[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { operationId: id, summary, tags } = operation;
      const html = operationHtml({ method: method.toUpperCase(), path, operation }, document, base);
      return { id, summary, tag: tags[0], html };
    }),
  );
}

function eventEntries({ webhooks, components }: OpenApiDocument): readonly Entry[] {
  return Object.entries(webhooks).map(([type, { post }]) => {
    const html = webhookHtml(type, post, components.schemas);
    return { id: post.operationId, summary: type, tag: post.tags[0], html };
  });
}

function navigation(tag: string, entries: readonly Entry[]): string {
  const items = entries.map(
    ({ id, summary }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(summary)}</a></li>`,
  );
  return `<h2>${escapeHtml(tag)}</h2><ul>${items.join("")}</ul>`;
}

/** The reference as one static page, made from the document alone. `documentUrl` is where the document is. */
export function docsPage(document: OpenApiDocument, documentUrl: string): string {
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
      `<h2>${escapeHtml(name)}</h2>${prose(description)}${entries.map(({ html }) => html).join("")}`,
  );
  const title = `${escapeHtml(info.title)} ${escapeHtml(info.version)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: reference</title>
<style>${DOCS_STYLE}</style>
</head>
<body>
<nav aria-label="Operations">
<strong>${title}</strong>
${groups.map(({ name, entries }) => navigation(name, entries)).join("\n")}
</nav>
<main>
<h1>${escapeHtml(info.title)}</h1>
<p class="soft">Version ${escapeHtml(info.version)} at <code>${escapeHtml(base)}</code>. The same as
<a href="${escapeHtml(documentUrl)}">OpenAPI 3.1</a>.</p>
${prose(String(info.description ?? ""))}
<p>Send the API key with every request: <code>Authorization: Bearer &lt;API_KEY&gt;</code>.
Each operation names the scope that the key must hold. The examples take it from the environment:</p>
<pre>export POSTLEDGER_API_KEY=&lt;API_KEY&gt;</pre>
${parts.join("\n")}
</main>
</body>
</html>
`;
}
