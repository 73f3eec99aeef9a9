/** What a run of the tests came to. */
export interface TestReport {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** How many tests that need a real EventStoreDB have run, and how many were left out. */
  readonly eventStoreDb: { readonly ran: number; readonly skipped: number };
  /** The same of tests in a real browser. */
  readonly browser: { readonly ran: number; readonly skipped: number };
  /** Test files of which the report holds no test: they broke before their first, or hold none. */
  readonly silentFiles: readonly string[];
}

type Ending = "passed" | "failed" | "skipped";

interface TestCase {
  readonly suite: string;
  readonly file: string;
  readonly ending: Ending;
}

function attribute(tag: string, name: string): string {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
}

/** `body` is what stands between the tags of one test case. */
function endingOf(body: string): Ending {
  if (/<(failure|error)\b/.test(body)) return "failed";
  return /<skipped\b/.test(body) ? "skipped" : "passed";
}

function* testCases(junit: string): Iterable<TestCase> {
  for (const [, tag = "", body = ""] of junit.matchAll(
    /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    yield { suite: attribute(tag, "classname"), file: attribute(tag, "file"), ending: endingOf(body) };
  }
}

/** Counts the tests of a JUnit report (XML as Bun writes it) over the given test files. */
export function readTestReport(junit: string, files: readonly string[]): TestReport {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const eventStoreDb = { ran: 0, skipped: 0 };
  const browser = { ran: 0, skipped: 0 };
  const heardOf = new Set<string>();
  for (const { suite, file, ending } of testCases(junit)) {
    counts[ending] += 1;
    heardOf.add(file);
    if (file.startsWith("test/browser/")) browser[ending === "skipped" ? "skipped" : "ran"] += 1;
    if (/eventstoredb/i.test(`${suite} ${file}`)) eventStoreDb[ending === "skipped" ? "skipped" : "ran"] += 1;
  }
  const silentFiles = files.filter((file) => !heardOf.has(file));
  return { ...counts, eventStoreDb, browser, silentFiles };
}
