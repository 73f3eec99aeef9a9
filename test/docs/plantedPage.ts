import { type Page, parsePage } from "./markdownPage.ts";

/** A page of its own, with what is planted. */
export function planted(...lines: readonly string[]): Page {
  return parsePage("docs/planted.md", ["# Planted", "", ...lines, ""].join("\n"));
}

/** A block that is run. */
export const sh = (...lines: readonly string[]) => ["```sh", ...lines, "```", ""];
/** What it prints. */
export const printing = (language: string, ...lines: readonly string[]) => [
  `\`\`\`${language}`,
  ...lines,
  "```",
  "",
];
