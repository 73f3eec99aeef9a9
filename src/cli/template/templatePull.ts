import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nameWhenComplete } from "../../adapters/directory/partialPath.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readVersionSource } from "../../commands/template/compiledTemplateCache.ts";
import { templatesOfWorkspace } from "../../commands/template/readTemplate.ts";
import { findVersion, type Template, type TemplateVersion } from "../../domain/template/state.ts";
import { isAlias } from "../../domain/template/templateAlias.ts";
import { withCallerUmask } from "../../kernel/fileModes.ts";
import { requireNewPath } from "../output/requireNewPath.ts";
import { type Command, notFound } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { templateFiles } from "./templateFiles.ts";

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
    "Writes the published version of each template that has an alias and is not archived. A folder that is there already " +
    "is not touched: then nothing is written. Reads the log from its start.",
  options: [WORKSPACE_OPTION],
  examples: ["postledger template pull templates", "postledger template pull templates order-shipped"],
  async run(invocation) {
    const [folder = "", ...aliases] = invocation.args;
    const pulled = await inWorkspace(
      invocation,
      async (deps, { workspaceId }) => {
        const all = await templatesOfWorkspace(deps.store, workspaceId);
        const published = [...all].flatMap(([id, template]) => foundIn(id, template) ?? []);
        const missing = aliases.find((alias) => !published.some((one) => one.alias === alias));
        if (missing !== undefined) notFound(`there is no published template ${missing}`);
        const found = published.filter(({ alias }) => aliases.length === 0 || aliases.includes(alias));
        for (const { alias } of found) requireNewPath(join(folder, alias));
        for (const one of found) await write(deps, folder, one);
        return found;
      },
      { readOnly: true },
    );
    const rows = pulled.map(({ alias, version }) => ({ alias, version: version.number }));
    const lines = rows.map(({ alias, version }) => `${alias}: version ${version}`);
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

/** Whole or not at all, because a push takes what is there. Nothing if the template was deleted since. */
async function write(deps: Dependencies, folder: string, { alias, templateId, template, version }: Found) {
  const source = await readVersionSource(deps.store, templateId, version);
  if (source === null) return;
  const writeTo = async (partial: string) =>
    withCallerUmask(() => {
      mkdirSync(partial, { recursive: true });
      for (const [name, text] of templateFiles(template.name, source))
        writeFileSync(join(partial, name), text);
    });
  // A push ignores what is hidden.
  await nameWhenComplete(join(folder, alias), writeTo, join(folder, `.${alias}`));
}
