import { sha256Of } from "../../../kernel/crypto/sha256.ts";
import { lazy } from "../../../kernel/lazy.ts";

/** Where each file comes from: our own sources, or an installed package. */
const SOURCES = {
  "dashboard.css": ["../browser/dashboard.css", "text/css; charset=utf-8"],
  "dashboard.js": ["../browser/dashboard.js", "text/javascript; charset=utf-8"],
  "plots.js": ["../browser/plots.js", "text/javascript; charset=utf-8"],
  "logIn.js": ["../browser/logIn.js", "text/javascript; charset=utf-8"],
  "htmx.js": ["htmx.org/dist/htmx.min.js", "text/javascript; charset=utf-8"],
  "hx-sse.js": ["htmx.org/dist/ext/hx-sse.min.js", "text/javascript; charset=utf-8"],
  "uPlot.js": ["uplot/dist/uPlot.iife.min.js", "text/javascript; charset=utf-8"],
  "uPlot.css": ["uplot/dist/uPlot.min.css", "text/css; charset=utf-8"],
  "icon.svg": ["../browser/icon.svg", "image/svg+xml"],
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
  const [source, contentType] = SOURCES[name];
  const plain = await Bun.file(Bun.resolveSync(source, import.meta.dir)).bytes();
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
