import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/root.ts";
import { type Page, parsePage } from "./markdownPage.ts";

const DOCS = [...new Bun.Glob("docs/*.md").scanSync({ cwd: ROOT })].sort();

/** Every page of the documentation, the README first. */
export const PAGES: readonly Page[] = ["README.md", "SECURITY.md", ...DOCS].map((path) =>
  parsePage(path, readFileSync(join(ROOT, path), "utf8")),
);

/** The text of a page's one block of a language that has these words. */
export function blockWith(path: string, language: string, words: string): string {
  const page = PAGES.find((one) => one.path === path);
  const found = page?.blocks.filter((block) => block.language === language && block.text.includes(words));
  if (found?.length !== 1)
    throw new Error(`${path} does not have exactly one ${language} block with ${words}`);
  return found[0]?.text ?? "";
}
