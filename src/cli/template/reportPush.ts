import type {
  PushedTemplate,
  PushedTemplates,
  UnpushedTemplate,
} from "../../commands/template/pushTemplates.ts";
import { TEMPLATE_BYTES_MAX, TEMPLATE_LIMITS, VERSIONS_MAX } from "../../domain/template/templateLimits.ts";
import { bytesText, grouped } from "../../kernel/text/readableNumbers.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { Invocation } from "../program/command.ts";
import { requireNoFaults } from "./requireNoFaults.ts";

export const NOTHING_PUSHED = "nothing was pushed:";
const SOME_PUSHED = "the others were pushed, but not these:";
const AGAIN = "Once that is mended, push again: what has been pushed stays as it is.";

const OTHER_ALIAS = "delete it and push again, or choose another alias";

const REASONS: Readonly<Record<Extract<UnpushedTemplate["reason"], string>, string>> = {
  ...TEMPLATE_LIMITS,
  archived: `is archived for good: ${OTHER_ALIAS}`,
  versionsUsedUp: `has ${grouped(VERSIONS_MAX)} versions: ${OTHER_ALIAS}`,
  sourcesUsedUp: `its versions would have more than ${bytesText(TEMPLATE_BYTES_MAX)} of sources: ${OTHER_ALIAS}`,
  changesUsedUp: TEMPLATE_LIMITS.aliasUsedUp,
  notTried: "was not tried",
};

const WORDS: Readonly<Partial<Record<PushedTemplate["changes"][number], string>>> = {
  TemplateCreated: "created",
  TemplateRenamed: "renamed",
  TemplateVersionDrafted: "drafted",
  TemplateVersionPublished: "published",
};

interface ReportOptions extends Pick<Invocation, "print"> {
  readonly isDryRun: boolean;
}

/** Prints what was pushed, or would be. Ends the command if some templates were not. */
export function reportPush({ pushed, unpushed }: PushedTemplates, { isDryRun, print }: ReportOptions): void {
  if (pushed.length === 0) requireAllPushed(unpushed);
  const value = {
    templates: pushed.map(pushedJson),
    not_pushed: unpushed.map((one) => ({ alias: one.alias, reason: reasonOf(one) })),
  };
  print(isDryRun ? { dry_run: true, ...value } : value, [
    ...(isDryRun ? ["nothing was pushed; without --dry-run:"] : []),
    ...pushed.map(pushedLine),
  ]);
  requireNoFaults(unpushed.map(unpushedLine), SOME_PUSHED, AGAIN);
}

/** Ends a command that has pushed nothing yet. A failure of the store is reported as every command does. */
export function requireAllPushed(unpushed: readonly UnpushedTemplate[]): void {
  for (const { reason } of unpushed) if (reason instanceof StoreError) throw reason;
  requireNoFaults(unpushed.map(unpushedLine), NOTHING_PUSHED);
}

function reasonOf({ reason }: UnpushedTemplate): string {
  return typeof reason === "string" ? REASONS[reason] : reason.message;
}

function unpushedLine(template: UnpushedTemplate): string {
  return `${template.alias}: ${reasonOf(template)}`;
}

function pushedJson({ alias, changes, number, versionsLeft }: PushedTemplate) {
  const left = versionsLeft === undefined ? {} : { versions_left: versionsLeft };
  return { alias, version: number, changes: changes.map((type) => WORDS[type]), ...left };
}

function pushedLine(template: PushedTemplate): string {
  const { alias, version, changes, versions_left } = pushedJson(template);
  const left = versions_left === undefined ? "" : `, room for ${versions_left} more`;
  return `${alias}: ${changes.join(", ") || "unchanged"} (version ${version}${left})`;
}
