import type { TemplateTools } from "../../commands/template/compiledTemplateCache.ts";
import type { TemplateToPush } from "../../commands/template/pushTemplate.ts";
import type { StepOwner, TemplateScheduler } from "../../commands/template/templateScheduler.ts";
import { jsonIn } from "../../http/body/jsonBody.ts";
import { repeatedMember } from "../../http/body/repeatedMember.ts";
import { checkBy } from "../../http/body/validation.ts";
import { invalid, Problem, type ProblemDetail } from "../../http/server/problem.ts";
import { DraftVersionBody, draftRequest } from "../../http/template/draftVersionRequest.ts";
import { namingBody } from "../../http/template/templateOperations.ts";
import { isObject } from "../../kernel/text/json.ts";
import type { TemplateFolder } from "./readTemplateFolders.ts";
import { PART_FILES, partOf, SETTINGS_FILE } from "./templateFiles.ts";

/** The rules of a version are `draftRequest`'s. */
const checkTemplate = checkBy(namingBody(DraftVersionBody.properties, {}));

/** A command serves nobody else meanwhile, so its templates need not take turns. */
const AT_ONCE: TemplateScheduler = { run: async (_owner, step) => step() };

/** The template in a folder, checked as the API checks it; or what is wrong, each with its file. */
export async function checkTemplateFolder(
  { templateEngine }: Pick<TemplateTools, "templateEngine">,
  folder: TemplateFolder,
  owner: StepOwner,
): Promise<TemplateToPush | readonly string[]> {
  const { alias, faults } = folder;
  if (faults.length > 0) return faults;
  try {
    const template = await bodyOf(folder);
    checkTemplate(template);
    const { name, ...version } = template as { readonly name: string } & DraftVersionBody;
    const { draft } = await draftRequest({ templateEngine, templateScheduler: AT_ONCE }, version, owner);
    return { alias, name, version: draft };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return (error.options.errors ?? []).map((fault) => faultLine(alias, fault));
  }
}

/** Name and version as bodies of the API have them. */
async function bodyOf({ files }: TemplateFolder): Promise<unknown> {
  const json = files.get(SETTINGS_FILE) ?? Buffer.alloc(0);
  const settings = await jsonIn(json);
  const repeated = repeatedMember(json.toString());
  if (repeated !== null) throw invalid("", `has ${repeated} more than once`);
  if (!isObject(settings)) return settings;
  const parts = Object.entries(PART_FILES).flatMap(([part, file]) => {
    if (part in settings) throw invalid("", `has /${part}, which belongs in ${file}`);
    const bytes = files.get(file);
    return bytes === undefined ? [] : [[part, partOf(textOf(part, bytes))] as const];
  });
  return { ...settings, ...Object.fromEntries(parts) };
}

function textOf(part: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalid(`/${part}`, "is not UTF-8");
  }
}

function faultLine(alias: string, { pointer, message }: ProblemDetail): string {
  const part = Object.entries(PART_FILES).find(([name]) => pointer === `/${name}`);
  if (part !== undefined) return `${alias}/${part[1]}: ${message}`;
  return `${alias}/${SETTINGS_FILE}: ${pointer === "" ? message : `${pointer} ${message}`}`;
}
