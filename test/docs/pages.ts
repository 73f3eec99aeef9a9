import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/service.ts";
import { type Page, parsePage } from "./markdownPage.ts";

const PATHS = ["README.md", "docs/getting-started.md"];

/** Every page of the documentation, the README first. */
export const PAGES: readonly Page[] = PATHS.map((path) =>
  parsePage(path, readFileSync(join(ROOT, path), "utf8")),
);
