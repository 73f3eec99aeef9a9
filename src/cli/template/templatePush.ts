import type { Dependencies } from "../../commands/dependencies.ts";
import { type PushOutcome, pushTemplate, type TemplateToPush } from "../../commands/template/pushTemplate.ts";
import { templatesOfWorkspace } from "../../commands/template/readTemplate.ts";
import { TEMPLATE_LIMITS } from "../../domain/template/templateLimits.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { lazy } from "../../kernel/lazy.ts";
import { firstOf } from "../../kernel/text/readableNumbers.ts";
import { terminalText } from "../output/terminalText.ts";
import { type Command, CommandFailure, type Option } from "../program/command.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { checkTemplateFolder } from "./checkTemplateFolder.ts";
import { readTemplateFolders } from "./readTemplateFolders.ts";

/** Faults that one push shows. */
const FAULTS_SHOWN_MAX = 50;

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

type Pushed = Exclude<PushOutcome, string>;
type PushedTemplate = Pushed & { readonly alias: string };

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
    const pushed = await inWorkspace(
      invocation,
      async (deps, context) => {
        const checked = await Promise.all(folders.map((one) => checkTemplateFolder(deps, one, context)));
        requireNone(checked.flatMap((one) => (Array.isArray(one) ? one : [])));
        const templates = checked.filter((one) => "version" in one);
        const existing = countLazily(deps, context);
        const planned = await pushAll(deps, templates, { isPublished, isDryRun: true, existing }, context);
        return isDryRun ? planned : pushAll(deps, templates, { isPublished, isDryRun, existing }, context);
      },
      { readOnly: isDryRun },
    );
    invocation.print({ ...(isDryRun ? { dry_run: true } : {}), templates: pushed.map(pushedJson) }, [
      ...(isDryRun ? ["nothing was pushed; without --dry-run:"] : []),
      ...pushed.map(pushedLine),
    ]);
  },
};

interface PushOptions extends Omit<Parameters<typeof pushTemplate>[2], "count"> {
  /** Counts the templates that the workspace had before. */
  readonly existing: () => Promise<number>;
}

/** Pushes one template after the other, and goes on after a refusal. Ends the command if there was one. */
async function pushAll(
  deps: Dependencies,
  templates: readonly TemplateToPush[],
  { existing, ...options }: PushOptions,
  context: WorkspaceCommandContext,
): Promise<readonly PushedTemplate[]> {
  const pushed: PushedTemplate[] = [];
  const refused: string[] = [];
  let created = 0;
  const count = async () => (await existing()) + created;
  for (const template of templates) {
    const { alias } = template;
    const outcome = await pushTemplate(deps, template, { ...options, count }, context);
    if (typeof outcome === "string") refused.push(`${alias}: ${REFUSALS[outcome]}`);
    else pushed.push({ alias, ...outcome });
    if (typeof outcome !== "string" && outcome.changes.includes("TemplateCreated")) created += 1;
  }
  const isPartly = !options.isDryRun && pushed.length > 0;
  requireNone(refused, isPartly ? "the others were pushed, but not these:" : undefined);
  return pushed;
}

/** Counts the workspace's templates, once and only if a template is created: it reads the log from its start. */
function countLazily({ store }: Dependencies, { workspaceId }: WorkspaceCommandContext) {
  return lazy(async () => (await templatesOfWorkspace(store, workspaceId)).size);
}

const REFUSALS: Readonly<Record<Extract<PushOutcome, string>, string>> = {
  archived: "is archived for good: delete it, or choose another alias",
  ...TEMPLATE_LIMITS,
};

/** Ends the command if there are faults. Names of files in them may hold line breaks, but each fault is one line. */
function requireNone(faults: readonly string[], heading = "nothing was pushed:"): void {
  if (faults.length === 0) return;
  const { shown, others } = firstOf(FAULTS_SHOWN_MAX, faults);
  const lines = [...shown, ...(others === null ? [] : [others])].map((line) => `  ${terminalText(line)}`);
  throw new CommandFailure("refused", [heading, ...lines].join("\n"));
}

const WORDS: Readonly<Partial<Record<Pushed["changes"][number], string>>> = {
  TemplateCreated: "created",
  TemplateRenamed: "renamed",
  TemplateVersionDrafted: "drafted",
  TemplateVersionPublished: "published",
};

function pushedJson({ alias, changes, number }: PushedTemplate) {
  return { alias, version: number, changes: changes.map((type) => WORDS[type]) };
}

function pushedLine(template: PushedTemplate): string {
  const { alias, version, changes } = pushedJson(template);
  return `${alias}: ${changes.join(", ") || "unchanged"} (version ${version})`;
}
