import { nearestName } from "../../kernel/text/nearestName.ts";
import { routes } from "./routes.ts";

/** Matches the paths of a route. A trailing slash is the same path, but `//` is not the root. */
export function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/:[a-z_]+/g, "[^/]+")}${path === "/" ? "" : "/?"}$`);
}

const patterns = Object.values(routes).map(({ method, path }) => ({
  method,
  path,
  pattern: pathPattern(path),
  parent: pathPattern(path.slice(0, path.lastIndexOf("/"))),
}));

/** The one that a path means: a literal word also matches another route's variable part. */
function literalFirst(matching: typeof patterns): (typeof patterns)[number] | undefined {
  return matching.find(({ path }) => !path.includes(":")) ?? matching[0];
}

/** The literal words of all routes. */
const WORDS: ReadonlySet<string> = new Set(
  patterns.flatMap(({ path }) => path.split("/").filter((part) => !part.startsWith(":"))),
);
/** How many parts of an unknown path a log line shows. */
const LOGGED_PARTS_MAX = 8;

/**
 * A path below BASE_URL for log lines: its route. Variable parts and unknown paths may hold a key or an address, so
 * only words of our own routes are shown.
 */
export function loggedPath(path: string): string {
  const matching = patterns.filter(({ pattern }) => pattern.test(path));
  const route = literalFirst(matching);
  if (route !== undefined) return route.path;
  const parts = path.split("/").slice(0, LOGGED_PARTS_MAX + 1);
  return parts.map((part) => (WORDS.has(part) ? part : "…")).join("/");
}

/** The methods of a path, for 405 and its Allow header; none for an unknown path. */
export function methodsOf(path: string): readonly string[] {
  const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return methods.includes("GET") ? [...methods, "HEAD"] : methods;
}

/** A route's path as people write it. */
function shownPath(path: string): string {
  return path.replace(/:([a-z_]+)/g, "{$1}");
}

/** The operations one part below a path other than the root, such as POST /api/v1/emails/{id}/cancel. */
export function operationsBelow(path: string): readonly { readonly method: string; readonly path: string }[] {
  const below = path.length < 2 ? [] : patterns.filter(({ parent }) => parent.test(path));
  return below.map((one) => ({ method: one.method, path: shownPath(one.path) }));
}

/** The path prefix of most operations. */
const API_PREFIX = "/api/v1";

/** The first words of paths, without the prefix. */
const RESOURCES: readonly string[] = [
  ...new Set(patterns.map(({ path }) => path.replace(API_PREFIX, "").split("/")[1] ?? "")),
];
/** What other services call our resources. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["domains", "senders"],
  ["messages", "emails"],
  ["bounces", "suppressions"],
]);

/**
 * The route that was probably meant when {@link API_PREFIX} is missing, incomplete or superfluous, when a slash is
 * doubled, or when the resource is misspelt or has another service's name. Null for any other path, or if no such route
 * takes the method. Of `//name/..` only slashes arrive, which do not mean the root.
 */
export function nearestPath(method: string, path: string): string | null {
  const single = path.replace(/\/{2,}/g, "/");
  if (single === "/") return null;
  const [, given = "", ...rest] = single.replace(/^(?:\/api)?(?:\/v\d+)?(?=\/)/, "").split("/");
  const resource = OTHER_NAMES.get(given) ?? nearestName(given, RESOURCES) ?? given;
  const below = ["", resource, ...rest].join("/");
  const wanted = method === "HEAD" ? "GET" : method;
  const taking = patterns.filter(
    (one) => one.method === wanted && (one.pattern.test(API_PREFIX + below) || one.pattern.test(below)),
  );
  const meant = literalFirst(taking);
  return meant === undefined ? null : shownPath(meant.path);
}
