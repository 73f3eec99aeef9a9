import { Elysia } from "elysia";
import { docsPage } from "./docsPage.ts";
import { DOCS_STYLE } from "./docsStyle.ts";
import { pageHeaders } from "./html.ts";
import type { OpenApiDocument } from "./openApi.ts";
import { routes } from "./routes.ts";

interface ReferenceOptions {
  readonly document: OpenApiDocument;
  /** The path of BASE_URL, "" or "/prefix". */
  readonly basePath: string;
}

/** Something that stays the same for as long as the process runs. */
interface Page {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

function page(text: string, headers: Page["headers"]): Page {
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("base64url");
  return {
    text,
    headers: {
      ...headers,
      etag: `"${digest}"`,
      // Whoever keeps it asks whether it has changed, which costs an answer without a body.
      "cache-control": "public, no-cache",
    },
  };
}

/** Whether the caller has this very text (RFC 9110, If-None-Match: a list of tags, weak ones too, or `*`). */
function isKept(request: Request, etag: string | undefined): boolean {
  const asked = (request.headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim());
  return asked.some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag);
}

function answer({ text, headers }: Page) {
  return ({ request, set }: { request: Request; set: { status?: number | string; headers: object } }) => {
    Object.assign(set.headers, headers);
    if (!isKept(request, headers.etag)) return text;
    set.status = 304;
    return null;
  };
}

/** The service's description of itself: for programs, and as a page for people. Both are made once. */
export function referenceController({ document, basePath }: ReferenceOptions) {
  const json = page(JSON.stringify(document), {
    "content-type": "application/json",
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  });
  const html = page(docsPage(document, basePath + routes.openApi.path), pageHeaders(DOCS_STYLE));
  return new Elysia({ normalize: false })
    .get(routes.openApi.path, answer(json))
    .get(routes.docs.path, answer(html));
}
