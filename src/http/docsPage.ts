import { operationHtml } from "./docsOperation.ts";
import { DOCS_STYLE } from "./docsStyle.ts";
import { escapeHtml, prose } from "./html.ts";
import type { DocumentOperation, OpenApiDocument } from "./openApi.ts";

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: DocumentOperation;
}

function listed({ paths }: OpenApiDocument): readonly Listed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

function navigation(tag: string, all: readonly Listed[]): string {
  const items = all.map(
    ({ operation }) =>
      `<li><a href="#${escapeHtml(operation.operationId)}">${escapeHtml(operation.summary)}</a></li>`,
  );
  return `<h2>${escapeHtml(tag)}</h2><ul>${items.join("")}</ul>`;
}

/** Everything that the page may load is in it: no script, no font, no image, no frame. */
export function docsPolicy(): string {
  const digest = new Bun.CryptoHasher("sha256").update(DOCS_STYLE).digest("base64");
  const rules = [
    "default-src 'none'",
    `style-src 'sha256-${digest}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return [...rules, "frame-ancestors 'none'"].join("; ");
}

/** The reference as one static page, made from the document alone. `documentUrl` is where the document is. */
export function docsPage(document: OpenApiDocument, documentUrl: string): string {
  const { info, servers, tags } = document;
  const base = servers[0]?.url ?? "";
  const all = listed(document);
  const groups = tags.map(({ name }) => ({
    name,
    members: all.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const parts = groups.map(
    ({ name, members }) =>
      `<h2>${escapeHtml(name)}</h2>${members.map((one) => operationHtml(one, document, base)).join("")}`,
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
${groups.map(({ name, members }) => navigation(name, members)).join("\n")}
</nav>
<main>
<h1>${escapeHtml(info.title)}</h1>
<p class="soft">Version ${escapeHtml(info.version)} at <code>${escapeHtml(base)}</code>. The same as
<a href="${escapeHtml(documentUrl)}">OpenAPI 3.1</a>.</p>
${prose(String(info.description ?? ""))}
<p>Send the API key with every request: <code>Authorization: Bearer &lt;API_KEY&gt;</code>.
Each operation names the scope that the key must hold.</p>
${parts.join("\n")}
</main>
</body>
</html>
`;
}
