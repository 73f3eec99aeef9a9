import { pointerTo } from "./jsonLimits.ts";

/** A string, with the colon after it if it is a name; or what begins, continues or ends an array or object. */
const TOKEN = /"((?:[^"\\]|\\.)*)"(\s*:)?|[[\]{},]/g;

/** An array or object that is open. */
interface Open {
  /** The names that an object has had so far. */
  readonly names: Set<string>;
  /** The name of the member, or the index of the item, that is being read. */
  key: string | number;
}

/**
 * The pointer to the first member whose name its object had before, in a text that is JSON; null if there is none. The
 * parser keeps the last of them and says nothing.
 */
export function repeatedMember(json: string): string | null {
  const open: Open[] = [];
  for (const [token, name, colon] of json.matchAll(TOKEN)) {
    const inner = open.at(-1);
    switch (token) {
      case "{":
      case "[":
        open.push({ names: new Set(), key: 0 });
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case ",":
        if (typeof inner?.key === "number") inner.key += 1;
        break;
      default:
        if (colon !== undefined && inner !== undefined && !addName(inner, `"${name}"`))
          return open.reduce((parent, { key }) => pointerTo(parent, key), "");
    }
  }
  return null;
}

/** False if the object had the name before. */
function addName(object: Open, name: string): boolean {
  object.key = JSON.parse(name) as string;
  const before = object.names.size;
  return object.names.add(object.key).size > before;
}
