import { existsSync } from "node:fs";
import { join } from "node:path";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { GenerationEntry } from "./generationCatalog.ts";

/** What to say of a generation whose file somebody has removed, and what to do; null if the file is there. */
export function missingFile(
  directory: string,
  { name, file }: Pick<GenerationEntry, "name" | "file">,
): string | null {
  if (existsSync(join(directory, file))) return null;
  return `its file ${file} is missing: \`${POSTLEDGER} projection rebuild ${name}\` makes a new one`;
}
