import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { nullIfMissing, readRegular } from "../../adapters/durableFiles/durableFile.ts";
import { ALIAS_RULE, isAlias } from "../../domain/template/templateAlias.ts";
import { TEMPLATES_MAX, VERSION_BYTES_MAX } from "../../domain/template/templateLimits.ts";
import { bytesText, grouped } from "../../kernel/text/readableNumbers.ts";
import { refuse } from "../program/command.ts";
import { refuseUnreadable } from "../program/inputFile.ts";
import { PART_FILES, SETTINGS_FILE } from "./templateFiles.ts";

/** One file: a pull writes no more than a version and its name have, and an editor may indent that. */
const FILE_BYTES_MAX = 2 * VERSION_BYTES_MAX;
/** All files of one push, which are in memory until all of them are checked. */
const ALL_BYTES_MAX = 64 * 1_024 * 1_024;

const FILES: readonly string[] = [SETTINGS_FILE, ...Object.values(PART_FILES)];

/** The folder of a template: its files by name. `faults` say what is wrong with them, each with the path of its file. */
export interface TemplateFolder {
  readonly alias: string;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly faults: readonly string[];
}

/**
 * Reads the folders of templates in a folder. Plain files and what is hidden are ignored beside them. Ends the command if
 * it cannot be read, or holds none or too many of them.
 */
export async function readTemplateFolders(path: string): Promise<readonly TemplateFolder[]> {
  const found = (await entriesOf(path)).filter((entry) => !entry.name.startsWith(".") && !entry.isFile());
  if (found.length === 0)
    refuse(`${path} holds no template: each is a folder, named by its alias, with a ${SETTINGS_FILE}`);
  if (found.length > TEMPLATES_MAX) refuse(`${path} holds more than ${grouped(TEMPLATES_MAX)} folders`);
  const folders: TemplateFolder[] = [];
  let bytes = 0;
  for (const entry of found) {
    const folder = await readFolder(path, entry.name, entry);
    bytes += folder.files.values().reduce((sum, file) => sum + file.length, 0);
    if (bytes > ALL_BYTES_MAX) refuse(`the files in ${path} have more than ${bytesText(ALL_BYTES_MAX)}`);
    folders.push(folder);
  }
  return folders;
}

/** The folder of a template; null if there is nothing of its name. Ends the command if it cannot be read. */
export async function readTemplateFolder(path: string, alias: string): Promise<TemplateFolder | null> {
  const place = join(path, alias);
  const found = await lstat(place)
    .catch(nullIfMissing)
    .catch((error) => refuseUnreadable({ name: place }, error));
  return found && readFolder(path, alias, found);
}

async function readFolder(
  path: string,
  alias: string,
  entry: Pick<Dirent, "isDirectory">,
): Promise<TemplateFolder> {
  const files = new Map<string, Buffer>();
  const refused = (fault: string) => ({ alias, files, faults: [`${alias}: ${fault}`] });
  if (!entry.isDirectory()) return refused("is not a folder, and links are not followed");
  if (!isAlias(alias)) return refused(`its name, which is the alias of the template, ${ALIAS_RULE}`);
  const entries = await entriesOf(join(path, alias));
  const isComplete = entries.some(({ name }) => name === SETTINGS_FILE);
  const faults = isComplete ? [] : [`${alias}/${SETTINGS_FILE}: is missing`];
  for (const file of entries) {
    const read = await readFileOf(join(path, alias), file);
    if (typeof read === "string") faults.push(`${alias}/${file.name}: ${read}`);
    else if (read !== null) files.set(file.name, read);
  }
  return { alias, files, faults };
}

/** The bytes of a file, or what is wrong with it; null if it is ignored. */
async function readFileOf(folder: string, file: Dirent): Promise<Buffer | string | null> {
  const { name } = file;
  // A misspelt name would leave a part out of the mail.
  if (!FILES.includes(name)) return name.endsWith(".liquid") ? `is not one of ${FILES.join(", ")}` : null;
  if (!file.isFile()) return "is not a regular file, and links are not followed";
  const path = join(folder, name);
  const bytes = await readRegular(path, FILE_BYTES_MAX).catch((error) =>
    refuseUnreadable({ name: path }, error),
  );
  return bytes ?? `has more than ${bytesText(FILE_BYTES_MAX)}`;
}

/** The entries of a folder by name. Ends the command if it cannot be read. */
async function entriesOf(path: string): Promise<readonly Dirent[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error) =>
    refuseUnreadable({ name: path }, error),
  );
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
