import type { Dependencies } from "../../commands/dependencies.ts";
import { pushTemplates } from "../../commands/template/pushTemplates.ts";
import { templatesOfWorkspace } from "../../commands/template/readTemplate.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { lazy } from "../../kernel/lazy.ts";
import type { Command, Option } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { checkTemplateFolder } from "./checkTemplateFolder.ts";
import { readTemplateFolders } from "./readTemplateFolders.ts";
import { NOTHING_PUSHED, reportPush, requireAllPushed } from "./reportPush.ts";
import { requireNoFaults } from "./requireNoFaults.ts";

const DRY_RUN: Option = {
  name: "dry-run",
  value: null,
  help: "check everything and say what a push would do, without doing it (default: do it)",
};

const NO_PUBLISH: Option = {
  name: "no-publish",
  value: null,
  help: "draft the versions without publishing them (default: publish)",
};

export const templatePush: Command = {
  name: "template push",
  operands: [{ name: "folder", help: "holds a folder for each template, named by its alias" }],
  summary: "Create and publish templates from files",
  description:
    "A template's folder has template.json (name, subject, variables) and html.liquid, text.liquid or both. A template " +
    "with a new alias is created; a version is drafted and published if its content is not the published one's. Other " +
    "files are ignored, but a .liquid file of another name is an error. All folders are checked first: if anything is " +
    "wrong, nothing is pushed. Templates without a folder stay as they are.",
  options: [WORKSPACE_OPTION, DRY_RUN, NO_PUBLISH],
  examples: [
    "postledger template push templates --dry-run",
    "postledger template push templates --workspace <id>",
  ],
  async run(invocation) {
    const folders = await readTemplateFolders(invocation.operand("folder"));
    const isDryRun = invocation.option(DRY_RUN.name) !== undefined;
    const isPublished = invocation.option(NO_PUBLISH.name) === undefined;
    const result = await inWorkspace(
      invocation,
      async (deps, context) => {
        const checked = await Promise.all(folders.map((one) => checkTemplateFolder(deps, one, context)));
        requireNoFaults(
          checked.flatMap((one) => (Array.isArray(one) ? one : [])),
          NOTHING_PUSHED,
        );
        const templates = checked.filter((one) => "version" in one);
        const options = { isPublished, existing: countLazily(deps, context) };
        const planned = await pushTemplates(deps, templates, { ...options, isDryRun: true }, context);
        requireAllPushed(planned.unpushed);
        return isDryRun ? planned : pushTemplates(deps, templates, { ...options, isDryRun }, context);
      },
      { writes: !isDryRun },
    );
    reportPush(result, { isDryRun, print: invocation.print });
    return 0;
  },
};

/** Counts the workspace's templates, once and only if a template is created: it reads the log from its start. */
function countLazily({ store }: Dependencies, { workspaceId }: WorkspaceCommandContext) {
  return lazy(async () => (await templatesOfWorkspace(store, workspaceId)).size);
}
