import { appendFileSync, readFileSync } from "node:fs";
import type { TestStore } from "../support/stores/stores.ts";
import { answerFault, describedOf, type SeenAnswer } from "./documentedAnswers.ts";

/** One kind of answer that a run of the tests has seen, with the first request that got it. */
export interface SeenLine {
  readonly store: TestStore["name"];
  /** The operation's name; null where no operation takes the request. */
  readonly route: string | null;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Null where the answer is no problem. */
  readonly code: string | null;
  /** What the problem said was wrong. */
  readonly detail: string | null;
}

/** Names the file that collects what all test files of one run have seen; without it nothing is kept. */
export const ANSWERS_FILE_VARIABLE = "TEST_ANSWERS_FILE";

const stores = new Map<string, TestStore["name"]>();
const known = new Set<string>();

/** Remembers which store the service behind `url` is on, from what it was started with. */
export function noteService(url: string, env: Readonly<Record<string, string | undefined>>): void {
  stores.set(url, env.STORE_URL?.startsWith("esdb") ? "EventStoreDB" : "SQLite");
}

const PATH_CHARACTERS_MAX = 120;
const DETAIL_CHARACTERS_MAX = 100;

function problemOf({ headers, text }: SeenAnswer): {
  readonly code: string | null;
  readonly detail: string | null;
} {
  if (headers.get("content-type") !== "application/problem+json") return { code: null, detail: null };
  const { code, detail } = JSON.parse(text) as { readonly code: string; readonly detail: string };
  return { code, detail: detail.slice(0, DETAIL_CHARACTERS_MAX) };
}

function note(url: string, method: string, path: string, seen: SeenAnswer): void {
  const file = process.env[ANSWERS_FILE_VARIABLE];
  // The answer to HEAD does not say its code.
  if (file === undefined || method === "HEAD") return;
  const route = describedOf(method, path)?.name ?? null;
  const store = stores.get(url) ?? "SQLite";
  const { status } = seen;
  const { code, detail } = problemOf(seen);
  const kind = [store, route, status, code].join(" ");
  if (known.has(kind)) return;
  known.add(kind);
  const line: SeenLine = {
    store,
    route,
    method,
    path: path.slice(0, PATH_CHARACTERS_MAX),
    status,
    code,
    detail,
  };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/**
 * Checks an answer of the service at `url` against the document and remembers it. `path` is below `url`.
 * Throws what is wrong, which fails the test that asked.
 */
export function checkAnswer(url: string, method: string, path: string, seen: SeenAnswer): void {
  const fault = answerFault(method, path, seen);
  if (fault !== null) {
    const shown = `${method} ${path.slice(0, 200)} was answered with ${seen.status}, which ${fault}`;
    throw new Error(`not as documented: ${shown}\n${seen.text.slice(0, 1_000)}`);
  }
  note(url, method, path, seen);
}

/** What the run that wrote `file` has seen. */
export function readAnswers(file: string): readonly SeenLine[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as SeenLine);
}
