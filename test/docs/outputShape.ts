/** A kind of value that differs from run to run: how the page's is recognised, and what this run's looks like. */
interface Kind {
  readonly shown: string;
  readonly printed: string;
  /** Whether the same value stands for the same one all over the page, in its commands too. */
  readonly isBound: boolean;
}

function bound(shown: string, printed = shown): Kind {
  return { shown, printed, isBound: true };
}

function free(shown: string): Kind {
  return { shown, printed: shown, isBound: false };
}

/** The first one that fits a place counts, so the longer ones stand before those that are part of them. */
const KINDS: readonly Kind[] = [
  bound("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
  bound("whsec_[A-Za-z0-9+/]{43}="),
  bound("pl_(?:test_)?[A-Za-z0-9]{50}"),
  bound("\\b[0-9a-f]{64}\\b"),
  // A request's id, then that of an API key, which letters alone may make up: the page's has all three.
  bound("\\b[0-9a-z]{20}\\b"),
  bound("\\b(?=\\w{0,11}[A-Z])(?=\\w{0,11}[a-z])(?=\\w{0,11}\\d)[A-Za-z0-9]{12}\\b", "[A-Za-z0-9]{12}"),
  free("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z"),
  free("\\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d"),
  free("(?<!HTTP/1\\.1 )\\b\\d+(?:[.,]\\d+)*\\b"),
];
const ELLIPSIS = "…";
const CHANGING = new RegExp(KINDS.map(({ shown }) => `(${shown})`).join("|"), "g");

/** The values of this run, by what stands for them in the page. */
export type Bindings = Map<string, string>;

/** The page's text with the values of this run in it. */
export function withValues(text: string, bindings: Bindings): string {
  return text.replace(CHANGING, (value) => bindings.get(value) ?? value);
}

function literal(text: string): string {
  const parts = text.split(ELLIPSIS).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return parts.join(".*");
}

/** Whether one text is what the page shows, but for what differs from run to run; notes this run's values if so. */
function isAlike(expected: string, actual: string, bindings: Bindings): boolean {
  const shownValues: string[] = [];
  let pattern = "";
  let end = 0;
  for (const match of expected.matchAll(CHANGING)) {
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)] as Kind;
    if (kind.isBound) shownValues.push(match[0]);
    pattern += literal(expected.slice(end, match.index));
    pattern += kind.isBound ? `(${kind.printed})` : `(?:${kind.printed})`;
    end = match.index + match[0].length;
  }
  const found = new RegExp(`^${pattern}${literal(expected.slice(end))}\\s*$`, "s").exec(actual);
  if (found === null) return false;
  const pairs = shownValues.map((shown, index) => [shown, found[index + 1] as string] as const);
  const agrees = pairs.every(([shown, value]) => (bindings.get(shown) ?? value) === value);
  if (agrees) for (const [shown, value] of pairs) bindings.set(shown, value);
  return agrees;
}

/** One value of the page's JSON beside that of the run, and where it stands. */
interface Pair {
  readonly expected: unknown;
  readonly actual: unknown;
  readonly at: string;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isScalarAlike({ expected, actual, at }: Pair, bindings: Bindings): boolean {
  if (typeof expected === "string" && typeof actual === "string") return isAlike(expected, actual, bindings);
  if (typeof expected === "number" && typeof actual === "number")
    return !at.endsWith("/status") || expected === actual;
  return expected === actual;
}

function jsonFault(pair: Pair, bindings: Bindings): string | null {
  const { expected, actual, at } = pair;
  if (expected === ELLIPSIS) return null;
  if (isObject(expected) && isObject(actual) && Array.isArray(expected) === Array.isArray(actual))
    return memberFault({ expected, actual, at }, bindings);
  if (isScalarAlike(pair, bindings)) return null;
  return `${at}: ${JSON.stringify(actual)} in place of ${JSON.stringify(expected)}`;
}

/** In an object the member `"…"`, in a list the last element `"…"`, stands for all that the page leaves out. */
function memberFault(
  { expected, actual, at }: { readonly expected: object; readonly actual: object; readonly at: string },
  bindings: Bindings,
): string | null {
  const members = Object.entries(expected);
  const shown = members.filter(
    ([name, value]) => name !== ELLIPSIS && !(Array.isArray(expected) && value === ELLIPSIS),
  );
  const names = new Set(shown.map(([name]) => name));
  const left = Object.keys(actual).filter((name) => !names.has(name));
  if (shown.length === members.length && left.length > 0)
    return `${at}: the page does not show ${left.join(", ")}`;
  for (const [name, value] of shown) {
    if (!(name in actual)) return `${at}: there is no ${name}`;
    const pair = {
      expected: value,
      actual: (actual as Record<string, unknown>)[name],
      at: `${at}/${name}`,
    };
    const fault = jsonFault(pair, bindings);
    if (fault !== null) return fault;
  }
  return null;
}

/** What of a JSON value is not as the page shows it; null when all is. Values of the run are noted in `bindings`. */
export function jsonOutputFault(expected: string, actual: string, bindings: Bindings): string | null {
  let value: unknown;
  try {
    value = JSON.parse(actual);
  } catch {
    return `it is no JSON: ${actual}`;
  }
  const fault = jsonFault({ expected: JSON.parse(expected), actual: value, at: "" }, bindings);
  return fault === null ? null : `${fault}\n  printed was:\n${actual}`;
}

/** What of a text is not as the page shows it: its lines must be among those printed, in this order. */
export function textOutputFault(expected: string, actual: string, bindings: Bindings): string | null {
  const lines = actual.split(/\r?\n/);
  let at = 0;
  for (const line of expected.split("\n")) {
    if (line.trim() === "" || line.trim() === ELLIPSIS) continue;
    const found = lines.findIndex((printed, index) => index >= at && isAlike(line, printed, bindings));
    if (found === -1) return `there is no line like: ${line}\n  printed was:\n${actual}`;
    at = found + 1;
  }
  return null;
}
