import { Elysia } from "elysia";
import { docsPage, docsPolicy } from "./docsPage.ts";
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

function page(text: string, contentType: string, policy: string): Page {
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("base64url");
  return {
    text,
    headers: {
      "content-type": contentType,
      etag: `"${digest}"`,
      // Whoever keeps it asks whether it has changed, which costs an answer without a body.
      "cache-control": "public, no-cache",
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
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
  const json = page(JSON.stringify(document), "application/json", "default-src 'none'");
  const html = page(
    docsPage(document, basePath + routes.openApi.path),
    "text/html; charset=utf-8",
    docsPolicy(),
  );
  return new Elysia({ normalize: false })
    .get(routes.openApi.path, answer(json))
    .get(routes.docs.path, answer(html));
}
