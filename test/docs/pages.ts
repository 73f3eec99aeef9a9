import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/root.ts";
import { type Page, parsePage } from "./markdownPage.ts";

const DOCS = [...new Bun.Glob("docs/*.md").scanSync({ cwd: ROOT })].sort();

/** Every page of the documentation, the README first. */
export const PAGES: readonly Page[] = ["README.md", "SECURITY.md", ...DOCS].map((path) =>
  parsePage(path, readFileSync(join(ROOT, path), "utf8")),
);
