import { sha256Of } from "../../../kernel/crypto/sha256.ts";
import { lazy } from "../../../kernel/lazy.ts";

const SCRIPT = "text/javascript; charset=utf-8";
const STYLES = "text/css; charset=utf-8";

/**
 * What each file consists of: our own sources, or parts of an installed package. htmx and its extension are one file,
 * since an extension that arrives after htmx has started is not used.
 */
const SOURCES = {
  "dashboard.css": { parts: ["../browser/dashboard.css"], contentType: STYLES },
  "dashboard.js": { parts: ["../browser/dashboard.js"], contentType: SCRIPT },
  "plots.js": { parts: ["../browser/plots.js"], contentType: SCRIPT },
  "logIn.js": { parts: ["../browser/logIn.js"], contentType: SCRIPT },
  "htmx.js": { parts: ["htmx.org/dist/htmx.min.js", "htmx.org/dist/ext/hx-sse.min.js"], contentType: SCRIPT },
  "uPlot.js": { parts: ["uplot/dist/uPlot.iife.min.js"], contentType: SCRIPT },
  "uPlot.css": { parts: ["uplot/dist/uPlot.min.css"], contentType: STYLES },
  "icon.svg": { parts: ["../browser/icon.svg"], contentType: "image/svg+xml" },
} as const;

export type AssetName = keyof typeof SOURCES;

const HASH_CHARACTERS = 12;
/** A file name contains the hash of its content, so the content under it never changes. */
const CACHE_CONTROL = "public, max-age=31536000, immutable";

/** The scripts and styles of the dashboard, in memory. */
export interface Assets {
  /** The file name under which browsers request it. */
  fileOf(name: AssetName): string;
  /** Answers a request for a file; null if there is none of that name. */
  answer(file: string, request: Request): Response | null;
}

/** Loads the files for browsers. Throws when a file of the installation is missing. */
export async function loadAssets(): Promise<Assets> {
  const names = Object.keys(SOURCES) as AssetName[];
  const loaded = new Map(await Promise.all(names.map(async (name) => [name, await load(name)] as const)));
  const byFile = new Map([...loaded.values()].map((asset) => [asset.file, asset]));
  return {
    fileOf: (name) => loaded.get(name)?.file ?? name,
    answer(file, request) {
      const asset = byFile.get(file);
      if (asset === undefined) return null;
      const isCompressed = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
      return new Response(isCompressed ? asset.compressed() : asset.plain, {
        headers: {
          "content-type": asset.contentType,
          "cache-control": CACHE_CONTROL,
          vary: "Accept-Encoding",
          "x-content-type-options": "nosniff",
          "cross-origin-resource-policy": "same-origin",
          ...(isCompressed ? { "content-encoding": "gzip" } : {}),
        },
      });
    },
  };
}

async function load(name: AssetName) {
  const { parts, contentType } = SOURCES[name];
  const texts = await Promise.all(
    parts.map((part) => Bun.file(Bun.resolveSync(part, import.meta.dir)).text()),
  );
  const plain = new TextEncoder().encode(texts.join("\n"));
  const hash = sha256Of(plain).slice(0, HASH_CHARACTERS);
  const dot = name.lastIndexOf(".");
  return {
    plain,
    /** Compressed on first request, so a start does not wait for it. */
    compressed: lazy(() => Bun.gzipSync(plain, { level: 9 })),
    contentType,
    /** Its name, with the hash of its content. */
    file: `${name.slice(0, dot)}.${hash}${name.slice(dot)}`,
  };
}
