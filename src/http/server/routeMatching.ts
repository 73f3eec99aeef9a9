import { routes } from "./routes.ts";

/** What paths are a route's. A slash at the end is the same path; two are not the root. */
export function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/:[a-z_]+/g, "[^/]+")}${path === "/" ? "" : "/?"}$`);
}

const patterns = Object.values(routes).map(({ method, path }) => ({
  method,
  path,
  pattern: pathPattern(path),
}));

/** The words of all routes. */
const WORDS: ReadonlySet<string> = new Set(
  patterns.flatMap(({ path }) => path.split("/").filter((part) => !part.startsWith(":"))),
);
/** Parts of a path that no route takes and a log line shows. */
const LOGGED_PARTS_MAX = 8;

/**
 * A path below BASE_URL as a log line may hold it: its route. What is in the variable parts, and in a path of no route,
 * may be a key or an address, so nothing of it is shown but the words of our own routes.
 */
export function loggedPath(path: string): string {
  const matching = patterns.filter(({ pattern }) => pattern.test(path));
  // A word of our own is matched by the variable part of another route, too.
  const route = matching.find((one) => !one.path.includes(":")) ?? matching[0];
  if (route !== undefined) return route.path;
  const parts = path.split("/").slice(0, LOGGED_PARTS_MAX + 1);
  return parts.map((part) => (WORDS.has(part) ? part : "…")).join("/");
}

/** The methods that a path takes, for 405 and its Allow header; none for an unknown path. */
export function methodsOf(path: string): readonly string[] {
  const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return methods.includes("GET") ? [...methods, "HEAD"] : methods;
}

/** What most operations are below. */
const API_PREFIX = "/api/v1";

/** The route that was meant where {@link API_PREFIX} is missing, or is one too many; null for any other path. */
export function nearestPath(path: string): string | null {
  const other = path.startsWith(`${API_PREFIX}/`) ? path.slice(API_PREFIX.length) : API_PREFIX + path;
  const route = patterns.find(({ pattern }) => pattern.test(other));
  return route === undefined ? null : route.path.replace(/:([a-z_]+)/g, "{$1}");
}
