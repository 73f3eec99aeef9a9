type Ending = "passed" | "failed" | "skipped";

/** One test of a JUnit report. */
export interface TestCase {
  /** The suites that it stands in, with ` > ` between them; empty for none. */
  readonly suite: string;
  readonly name: string;
  readonly ending: Ending;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(/&(#x?)?(\w+);/g, (whole, number: string | undefined, name: string) => {
    if (number === undefined) return ENTITIES[name] ?? whole;
    return String.fromCodePoint(Number.parseInt(name, number === "#x" ? 16 : 10));
  });
}

function attribute(tag: string, name: string): string {
  return unescapeXml(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
}

/** `body` is what stands between the tags of one test case. */
function endingOf(body: string): Ending {
  if (/<(failure|error)\b/.test(body)) return "failed";
  return /<skipped\b/.test(body) ? "skipped" : "passed";
}

/** The tests of a JUnit report (XML as Bun writes it). */
export function readTestCases(junit: string): readonly TestCase[] {
  const cases = junit.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g);
  return [...cases].map(([, tag = "", body = ""]) => ({
    // Bun writes the innermost suite first.
    suite: attribute(tag, "classname").split(" > ").reverse().join(" > "),
    name: attribute(tag, "name"),
    ending: endingOf(body),
  }));
}

/** What a JUnit report says of one file. */
export interface FileReport {
  readonly cases: readonly TestCase[];
  readonly seconds: number;
}

/** A JUnit report file by file, under the paths that Bun was given. */
export function readFileReports(junit: string): ReadonlyMap<string, FileReport> {
  // A file's own suite bears its name; those of its `describe` blocks stand in it.
  const starts = [...junit.matchAll(/<testsuite name="([^"]*)" file="\1"[^>]*?\stime="([\d.]+)"/g)];
  return new Map(
    starts.map(({ 1: file = "", 2: seconds, index }, at) => {
      const cases = readTestCases(junit.slice(index, starts[at + 1]?.index));
      return [unescapeXml(file), { cases, seconds: Number(seconds) }];
    }),
  );
}

/** How the run of one test file ended. */
export interface FileRun {
  readonly file: string;
  readonly seconds: number;
  /**
   * Processor time of its process and of those whose end it has waited for, user and system. Where several files had
   * one process, its time is shared out by how long each file took.
   */
  readonly cpuSeconds: number;
  readonly cases: readonly TestCase[];
  /** Why the file counts as failed, whatever its tests say: it crashed, hung, or holds no test. Null for no reason. */
  readonly fault: string | null;
  /** What it wrote, standard output and error in their order. */
  readonly output: string;
}

/** Tests that need something that a machine may lack: how many have run, and how many were left out. */
export interface Share {
  readonly ran: number;
  readonly skipped: number;
}

/** What a run of the test files came to. */
export interface TestReport {
  readonly passed: number;
  /** Failed tests, and files that count as failed. */
  readonly failed: number;
  readonly skipped: number;
  /** Of the tests that need a real EventStoreDB. */
  readonly eventStoreDb: Share;
  /** The same of tests in a real browser. */
  readonly browser: Share;
  /** Each failure with its file, as a line to read. */
  readonly failures: readonly string[];
}

function nameOf({ suite, name }: TestCase): string {
  return suite === "" ? name : `${suite} > ${name}`;
}

function failuresOf({ file, cases, fault }: FileRun): readonly string[] {
  const failed = cases.filter(({ ending }) => ending === "failed").map((one) => `${file}: ${nameOf(one)}`);
  return fault === null ? failed : [...failed, `${file}: ${fault}`];
}

/** Counts what the runs came to. */
export function sumUp(runs: readonly FileRun[]): TestReport {
  const all = runs.flatMap(({ file, cases }) => cases.map((one) => ({ ...one, file })));
  const count = (tests: typeof all, ending: Ending) => tests.filter((one) => one.ending === ending).length;
  const share = (tests: typeof all): Share => {
    const skipped = count(tests, "skipped");
    return { ran: tests.length - skipped, skipped };
  };
  const failures = runs.flatMap(failuresOf);
  return {
    passed: count(all, "passed"),
    failed: failures.length,
    skipped: count(all, "skipped"),
    eventStoreDb: share(all.filter(({ suite, file }) => /eventstoredb/i.test(`${suite} ${file}`))),
    browser: share(all.filter(({ file }) => file.startsWith("test/browser/"))),
    failures,
  };
}
