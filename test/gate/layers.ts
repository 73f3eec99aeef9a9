import { readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { ROOT } from "../support/root.ts";
import { hasDefaultExport, type ModuleReference, moduleReferences } from "./sourceText.ts";

/** A source file: its path from the root of the repository, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** What a layer may reach for beside its own files: our own as path patterns, other modules by name. */
interface Layer {
  readonly name: string;
  readonly files: RegExp;
  readonly own: readonly RegExp[];
  readonly modules: readonly string[];
}

const KERNEL = /^src\/kernel\//;
const PORTS = /^src\/ports\//;
const DOMAIN = /^src\/domain\//;
const DOMAIN_EVENTS = /^src\/domain\/\w+\/events\.ts$/;
/** The lists over the events of all nouns. */
const EVENT_LISTS = /^src\/domain\/(allEventCodecs|webhookEventTypes)\.ts$/;
const COMMANDS = /^src\/commands\//;
const PROJECTIONS = /^projections\//;
/** A read model with its queries; not the list of all of them, nor what they are made of. */
const QUERIES = /^projections\/(?!index\.ts$|projection\.ts$)/;
/** The send contract as HTTP has it, and what limits callers of both. */
const SEND_CONTRACT =
  /^src\/http\/(email\/(idempotencyKey|idempotentContent|sendEmailFaults|sendEmailRequest|sendEmailSchema|sendProblem)|body\/(bodyAdmission|bodyLimits|validation)|(server|limits)\/\w+)\.ts$/;
const NODE_FILES = ["node:fs", "node:fs/promises", "node:path"];

const LAYERS: readonly Layer[] = [
  {
    name: "kernel",
    files: KERNEL,
    own: [],
    modules: ["@sinclair/typebox", "nanoid", "ipaddr.js", "node:crypto", "node:url", "node:zlib"],
  },
  { name: "lists of events", files: EVENT_LISTS, own: [DOMAIN_EVENTS, KERNEL], modules: [] },
  { name: "domain", files: DOMAIN, own: [KERNEL], modules: ["@sinclair/typebox"] },
  { name: "ports", files: PORTS, own: [KERNEL], modules: [] },
  {
    name: "projections",
    files: PROJECTIONS,
    own: [DOMAIN_EVENTS, EVENT_LISTS, /^src\/ports\/readDatabase\.ts$/, KERNEL],
    modules: [],
  },
  { name: "commands", files: COMMANDS, own: [DOMAIN, PORTS, KERNEL], modules: ["lru-cache", "node:crypto"] },
  {
    name: "reactors",
    files: /^src\/reactors\//,
    own: [COMMANDS, DOMAIN, QUERIES, PORTS, KERNEL],
    modules: ["lru-cache"],
  },
  { name: "readModels", files: /^src\/readModels\//, own: [PROJECTIONS, PORTS, KERNEL], modules: NODE_FILES },
  {
    name: "http",
    files: /^src\/http\//,
    own: [COMMANDS, DOMAIN, QUERIES, PORTS, KERNEL],
    modules: ["elysia", "@sinclair/typebox", "busboy", "diff", "hono", "lru-cache", "node:stream"],
  },
  {
    name: "smtp",
    files: /^src\/smtp\//,
    own: [COMMANDS, DOMAIN, SEND_CONTRACT, PORTS, KERNEL],
    modules: ["lru-cache", "node:crypto"],
  },
];

const RULES = "test/gate/layers.ts";

/** What all adapters share, because the kernel does no input or output. */
const DURABLE_FILES = /^src\/adapters\/durableFiles\//;

/** What an adapter may import of its vendor, by its folder. Node's own modules are free to all but `node:sqlite`. */
const VENDORS: Readonly<Record<string, readonly string[]>> = {
  eventstoredb: ["@eventstore/db-client", "@grpc/grpc-js"],
  fileInspection: ["file-type", "yauzl"],
  htmlToText: ["html-to-text"],
  liquidjs: ["liquidjs", "lru-cache"],
  mailauth: ["mailauth"],
  nodemailer: ["nodemailer", "lru-cache"],
  pino: ["pino"],
  postalMime: ["postal-mime"],
  smtpServer: ["smtp-server"],
  sqlite: ["node:sqlite"],
};

/** What puts the parts together: it may reach for everything, and nothing below reaches for it. */
const COMPOSITION = /^src\/(main|service\/.+|cli\/\w+\/\w+)\.ts$/;

const TESTS = /^test\//;
const CODE_MAP = "docs/architecture.md";

/** The folders that the code map describes: there is no other in `src` and `projections`. */
const MAPPED: readonly string[] = [
  ...readFileSync(join(ROOT, CODE_MAP), "utf8").matchAll(/^\| `((?:src|projections)[^`]*)` \|/gm),
].map(([, folder = ""]) => folder);

/** Layers that consist of folders, and the files that stand beside those. Tests of a layer have the same folders. */
const LOOSE_FILES: Readonly<Record<string, readonly string[]>> = {
  "src/http": [],
  "src/commands": [
    "aggregateCache.ts",
    "aggregateDefinitions.ts",
    "conflictRetry.ts",
    "fixedWindowCounter.ts",
    "resourceChangeRateLimit.ts",
    "dependencies.ts",
    "createDependencies.ts",
    "streamWriteQueue.ts",
    "loadAllOfKind.ts",
    "transact.ts",
  ],
  "src/reactors": [],
  "src/domain": ["allEventCodecs.ts", "streamNames.ts", "webhookEventTypes.ts"],
  "test/http": [],
  "test/reactors": [],
};

const SQLITE = "node:sqlite";
const FILE_NAME = /^[a-z][A-Za-z0-9]*(\.test)?\.ts$/;
/** Templates, which are nowhere else, and the scripts that browsers get as they are. */
const TEMPLATE = /^(src\/http\/dashboard\/\w+\/[a-z][A-Za-z0-9]*|test\/http\/dashboard\/\w+\.test)\.tsx$/;
const BROWSER_SCRIPT = /^src\/http\/(dashboard|reference)\/browser\/[a-z][A-Za-z0-9]*\.js$/;
const LIST_OF_PROJECTIONS = "projections/index.ts";
/** Put together from parts, so that this file does not break its own rule. */
const UNFINISHED = new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "X".repeat(3)].join("|")})\\b`);

function isModuleOf(specifier: string, module: string): boolean {
  return specifier === module || specifier.startsWith(`${module}/`);
}

/** What is wrong with a reference from the files of an adapter's folder; null when nothing is. */
function adapterFault(path: string, target: string, isOurs: boolean): string | null {
  const folder = /^src\/adapters\/([^/]+)\//.exec(path)?.[1] ?? "";
  if (isOurs) {
    const isOwn = target.startsWith(`src/adapters/${folder}/`);
    const isFree = isOwn || [DURABLE_FILES, PORTS, KERNEL].some((pattern) => pattern.test(target));
    return isFree
      ? null
      : `an adapter may import its own folder, durableFiles, ports and kernel, but not ${target}`;
  }
  if (target.startsWith("node:") && target !== SQLITE) return null;
  const isVendor = VENDORS[folder]?.some((vendor) => isModuleOf(target, vendor));
  return isVendor ? null : `the adapter ${folder} may not import ${target}: VENDORS in ${RULES}`;
}

function nounOf(path: string): string | undefined {
  return /^src\/domain\/([^/]+)\//.exec(path)?.[1];
}

function layerFault(path: string, target: string, isOurs: boolean): string | null {
  if (path.startsWith("src/adapters/")) return adapterFault(path, target, isOurs);
  const layer = LAYERS.find(({ files }) => files.test(path));
  if (!layer) return "it belongs to no layer";
  const isSibling = layer.files.test(target) && nounOf(path) === nounOf(target);
  const isFree = isOurs
    ? isSibling || layer.own.some((pattern) => pattern.test(target))
    : layer.modules.some((module) => isModuleOf(target, module));
  return isFree ? null : `${layer.name} may not import ${target}: LAYERS in ${RULES}`;
}

function referenceFault(path: string, { kind, specifier }: ModuleReference): string | null {
  if (specifier === null) return `${kind} of a module whose name is computed`;
  if (specifier === "bun:sqlite") return "nothing may import bun:sqlite";
  const isOurs = specifier.startsWith(".");
  const target = isOurs ? normalize(join(dirname(path), specifier)) : specifier;
  if (isOurs && kind === "export" && path !== LIST_OF_PROJECTIONS)
    return `it passes on ${target}: there are no barrels`;
  if (TESTS.test(path)) return null;
  if (TESTS.test(target)) return `nothing outside of test may import ${target}`;
  if (!COMPOSITION.test(path)) return layerFault(path, target, isOurs);
  return target === SQLITE ? `only src/adapters/sqlite may import ${SQLITE}` : null;
}

function nameFaults(path: string): readonly string[] {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const isNamed = FILE_NAME.test(name) || TEMPLATE.test(path) || BROWSER_SCRIPT.test(path);
  const faults = isNamed ? [] : ["its name is not in camelCase"];
  if (name === "index.ts" && path !== LIST_OF_PROJECTIONS) return [...faults, "there are no barrels"];
  const isLayered = LAYERS.some(({ files }) => files.test(path)) || path.startsWith("src/adapters/");
  if (isLayered || COMPOSITION.test(path) || TESTS.test(path)) return faults;
  return [...faults, "it belongs to no layer"];
}

function folderFaults(path: string): readonly string[] {
  const folder = dirname(path);
  const looseFiles = LOOSE_FILES[folder];
  if (looseFiles !== undefined) {
    const isKnown = looseFiles.includes(basename(path));
    return isKnown ? [] : [`${folder} holds folders: put it into one, or name it in ${RULES}`];
  }
  const isTest = TESTS.test(path);
  const [layer, noun] = path.split("/").slice(1);
  if (folder === "src" || (isTest && LOOSE_FILES[`test/${layer}`] === undefined)) return [];
  const described = isTest ? `src/${layer}/${noun}` : folder;
  const isMapped = MAPPED.some((one) => one === described || (isTest && one.startsWith(`${described}/`)));
  return isMapped ? [] : [`${described} has no line in the code map of ${CODE_MAP}`];
}

/** Bun takes no notice of tsconfig.json where a service is started from another folder. */
const JSX_SOURCE = "/** @jsxImportSource hono/jsx */";

/**
 * SQLite looks at the value that is bound to a bare `LIMIT ?`, so it plans the statement anew each time, which takes longer
 * than most readings. Into `LIMIT ? + 0` it does not look.
 */
const REPLANNED = /\bLIMIT \?(?!\d* \+ 0)/;

/** A type imported where it is used. Biome does not see a circle through it. */
const INLINE_TYPE = /\bimport\("[^"]*"\)\.[A-Z]/;

/** A docstring right before another one has lost its declaration to code that was put in between. */
const STRAY_DOCSTRING = /\*\/\n[ \t]*\/\*\*/;

/** Everything about a source file that breaks the house's rules, each as `path: what`. */
export function houseFaults({ path, text }: SourceFile): readonly string[] {
  const faults = [
    ...nameFaults(path),
    ...folderFaults(path),
    ...moduleReferences(text).flatMap((reference) => referenceFault(path, reference) ?? []),
    ...(hasDefaultExport(text) ? ["it has a default export"] : []),
    ...(STRAY_DOCSTRING.test(text)
      ? ["a docstring stands right before another one: move it to its declaration"]
      : []),
    ...(INLINE_TYPE.test(text) && !TESTS.test(path)
      ? ["it imports a type where it is used: write `import type`, which Biome checks for circles"]
      : []),
    ...(UNFINISHED.test(text) ? ["it marks something as unfinished"] : []),
    ...(REPLANNED.test(text) && !TESTS.test(path)
      ? ["SQLite plans a bare LIMIT ? again each time: write LIMIT ? + 0"]
      : []),
    ...(path.endsWith(".tsx") && !text.startsWith(JSX_SOURCE)
      ? [`it does not begin with ${JSX_SOURCE}`]
      : []),
  ];
  return [...new Set(faults)].map((fault) => `${path}: ${fault}`);
}
