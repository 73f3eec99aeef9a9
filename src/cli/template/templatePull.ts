import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nameWhenComplete } from "../../adapters/durableFiles/partialPath.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readVersionSource } from "../../commands/template/compiledTemplateCache.ts";
import { templatesOfWorkspace } from "../../commands/template/readTemplate.ts";
import { findVersion, type Template, type TemplateVersion } from "../../domain/template/state.ts";
import { isAlias } from "../../domain/template/templateAlias.ts";
import { withCallerUmask } from "../../kernel/fileModes.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { type Command, notFound } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { readTemplateFolder, type TemplateFolder } from "./readTemplateFolders.ts";
import { requireNoFaults } from "./requireNoFaults.ts";
import { templateFiles } from "./templateFiles.ts";

const COMPARE = "Pull into a new folder to compare them.";

/** A template to write: its alias is the name of its folder. */
interface Found {
  readonly alias: string;
  readonly templateId: string;
  readonly template: Template;
  readonly version: TemplateVersion;
}

export const templatePull: Command = {
  name: "template pull",
  operands: [
    { name: "folder", help: "where to write one folder for each template; created if it is missing" },
    { name: "alias", help: "aliases of the templates to write (default: all)", count: "many" },
  ],
  summary: "Write published templates into files, as `template push` takes them",
  description:
    "Writes the published version of each template that has an alias and is not archived. Changes no folder that is there: " +
    "if one is not as it would be written, nothing is. Reads the log from its start.",
  options: [WORKSPACE_OPTION],
  examples: ["postledger template pull templates", "postledger template pull templates order-shipped"],
  async run(invocation) {
    const [folder = "", ...aliases] = invocation.args;
    const pulled = await inWorkspace(invocation, async (deps, { workspaceId }) => {
      const all = await templatesOfWorkspace(deps.store, workspaceId);
      const published = [...all].flatMap(([id, template]) => foundIn(id, template) ?? []);
      const missing = aliases.find((alias) => !published.some((one) => one.alias === alias));
      if (missing !== undefined) notFound(`there is no published template ${missing}`);
      const found = published.filter(({ alias }) => aliases.length === 0 || aliases.includes(alias));
      const toWrite = await withoutFolder(deps, folder, found);
      for (const one of toWrite) await write(deps, folder, one);
      return found.map((one) => ({ ...one, isWritten: toWrite.includes(one) }));
    });
    const rows = pulled.map(({ alias, version, isWritten }) => {
      return { alias, version: version.number, written: isWritten };
    });
    const lines = rows.map(
      ({ alias, version, written }) => `${alias}: ${written ? "" : "unchanged, "}version ${version}`,
    );
    invocation.print({ templates: rows }, lines.length > 0 ? lines : ["no published template has an alias"]);
  },
};

/** Null if there is nothing to write. An alias that is none would lead out of the folder. */
function foundIn(templateId: string, template: Template): Found | null {
  const { alias, currentVersionId, isArchived } = template;
  const version = currentVersionId && findVersion(template, currentVersionId);
  return !version || alias === null || isArchived || !isAlias(alias)
    ? null
    : { alias, templateId, template, version };
}

/**
 * The templates that have no folder yet: a pull that failed before may have written the others. Ends the command if a
 * folder is not what this pull would write, because somebody may have changed it.
 */
async function withoutFolder({ store }: Dependencies, folder: string, found: readonly Found[]) {
  const missing: Found[] = [];
  const different: string[] = [];
  for (const one of found) {
    const there = await readTemplateFolder(folder, one.alias);
    if (there === null) missing.push(one);
    else if (!holds(there, await filesOf(store, one))) different.push(join(folder, one.alias));
  }
  requireNoFaults(different, "nothing was written, because it would change these:", COMPARE);
  return missing;
}

function holds({ faults, files }: TemplateFolder, wanted: ReadonlyMap<string, string>): boolean {
  const isSame = ([name, text]: readonly [string, string]) => files.get(name)?.equals(Buffer.from(text));
  return faults.length === 0 && files.size === wanted.size && [...wanted].every(isSame);
}

/** The files of a template; none if it was deleted since. */
async function filesOf(store: EventStore, { templateId, template, version }: Found) {
  const source = await readVersionSource(store, templateId, version);
  return source === null ? new Map<string, string>() : templateFiles(template.name, source);
}

/** Whole or not at all, because a push takes what is there. */
async function write({ store }: Dependencies, folder: string, found: Found) {
  const { alias } = found;
  const files = await filesOf(store, found);
  if (files.size === 0) return;
  const writeTo = async (partial: string) =>
    withCallerUmask(() => {
      mkdirSync(partial, { recursive: true });
      for (const [name, text] of files) writeFileSync(join(partial, name), text);
    });
  // A push ignores what is hidden.
  await nameWhenComplete(join(folder, alias), writeTo, join(folder, `.${alias}`));
}
