import { type Context, Elysia } from "elysia";
import { rfc3339, utcDay } from "../../kernel/time.ts";
import { DASHBOARD_PATH } from "../dashboard/frame/dashboardRoute.ts";
import { countPage } from "../server/authorization.ts";
import { requestContextOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { deduplicateComponents } from "./deduplicateComponents.ts";
import type { OpenApiDocument } from "./openApiTypes.ts";
import { referencePage } from "./referencePage.ts";
import { REFERENCE_STYLE } from "./referenceStyle.ts";

const SCRIPT = await Bun.file(Bun.resolveSync("./browser/search.js", import.meta.dir)).text();
/** Contains the script's hash, so it never names another script. It belongs to the page and is not an operation. */
const SCRIPT_PATH = `${routes.docs.path}/search.${Bun.hash(SCRIPT).toString(36)}.js`;
const SCRIPT_HEADERS = {
  "content-type": "text/javascript; charset=utf-8",
  "cache-control": "public, max-age=31536000, immutable",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
};

interface ReferenceOptions {
  readonly document: () => OpenApiDocument;
  /** The path of BASE_URL, "" or "/prefix". */
  readonly basePath: string;
}

/** A text that stays the same for a day. */
interface Page {
  readonly text: string;
  /** The same, compressed once: an unread answer stays in memory until its connection ends. */
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly digest: string;
}

function page(text: string, headers: Page["headers"]): Page {
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("base64url");
  return {
    text,
    gzip: Bun.gzipSync(Buffer.from(text), { level: 9 }),
    headers: {
      ...headers,
      // Clients revalidate their copy, which costs an answer without a body.
      "cache-control": "public, no-cache",
      vary: "Accept-Encoding",
    },
    digest,
  };
}

/** Makes a value at its first use on each day (UTC), because examples name times that lie ahead. */
function daily<Value>(make: () => Value): () => Value {
  let made: { readonly day: string; readonly value: Value } | undefined;
  return () => {
    const day = utcDay(rfc3339(Date.now()));
    if (made?.day !== day) made = { day, value: make() };
    return made.value;
  };
}

/** Headers of the page: only its own style and scripts may load. */
function htmlHeaders(): Page["headers"] {
  const style = new Bun.CryptoHasher("sha256").update(REFERENCE_STYLE).digest("base64");
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; style-src 'sha256-${style}'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
  };
}

/** Whether the caller already has this text (RFC 9110, If-None-Match: a list of tags, weak ones too, or `*`). */
function isKept(request: Request, etag: string): boolean {
  const etags = (request.headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim());
  return etags.some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag);
}

/** Whether the caller accepts gzip (RFC 9110, Accept-Encoding). */
function takesGzip(request: Request): boolean {
  const codings = (request.headers.get("accept-encoding") ?? "").toLowerCase().split(",");
  return codings.some((coding) => /^\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/.test(coding));
}

function answer(made: () => Page) {
  return async ({ request, set }: Pick<Context, "request" | "set">) => {
    const { text, gzip, headers, digest } = made();
    const isGzip = takesGzip(request);
    const etag = isGzip ? `"${digest}-gzip"` : `"${digest}"`;
    Object.assign(set.headers, headers, { etag });
    if (isKept(request, etag)) {
      set.status = 304;
      return null;
    }
    countPage(request);
    if (!isGzip) return text;
    Object.assign(set.headers, { "content-encoding": "gzip" });
    return new Response(gzip);
  };
}

/**
 * The service's description of itself: for programs, and as a page for people. Each is built on first use: together
 * they take as long as half of a start.
 */
export function referenceController({ document, basePath }: ReferenceOptions) {
  const current = daily(document);
  const json = daily(() =>
    page(JSON.stringify(deduplicateComponents(current())), {
      "content-type": "application/json",
      "content-security-policy": "default-src 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    }),
  );
  const links = {
    document: basePath + routes.openApi.path,
    script: basePath + SCRIPT_PATH,
    dashboard: basePath + DASHBOARD_PATH,
  };
  const html = daily(() => page(referencePage(current(), links), htmlHeaders()));
  return new Elysia({ normalize: false })
    .get(routes.openApi.path, answer(json))
    .get(routes.docs.path, answer(html))
    .get(SCRIPT_PATH, ({ request }) => {
      requestContextOf(request).route = SCRIPT_PATH;
      return new Response(SCRIPT, { headers: SCRIPT_HEADERS });
    });
}
