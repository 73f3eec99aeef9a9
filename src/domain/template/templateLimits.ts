import { bytesText, grouped } from "../../kernel/text/readableNumbers.ts";

/**
 * A workspace has at most this many templates, including archived ones. Counted before each creation, so processes that
 * create some at the same moment may exceed it by a few: it only bounds lists.
 */
export const TEMPLATES_MAX = 1_000;
/** A template has at most this many versions. The fold of its stream copies their list with each event. */
export const VERSIONS_MAX = 2_000;
/** Changes of a template, and of those deleted under its alias. A deletion names them all in one event, of 930 kB. */
export const CHANGES_MAX = 10_000;
/** A version declares at most this many variables. */
export const VARIABLES_MAX = 100;
/** The source of one version as JSON. */
export const VERSION_BYTES_MAX = 256 * 1_024;
/** The sources of all versions of a template: every fold of its stream reads them. */
export const TEMPLATE_BYTES_MAX = 16 * 1_024 * 1_024;
/** A push says how many more versions the template can have if they are fewer than this. */
export const VERSIONS_LEFT_FEW = 100;

/** Which limit stops a change, with what to tell the caller. */
export const TEMPLATE_LIMITS = {
  templatesUsedUp: `the workspace has ${grouped(TEMPLATES_MAX)} templates: delete some that are no longer used`,
  aliasUsedUp: `the alias has had ${grouped(CHANGES_MAX)} changes, those of its deleted templates included: choose another`,
  changesUsedUp: `the template has had ${grouped(CHANGES_MAX)} changes, those of deleted ones with its alias included: create another`,
  versionsUsedUp: `the template has ${grouped(VERSIONS_MAX)} versions: create another`,
  sourcesUsedUp: `the versions of the template would have more than ${bytesText(TEMPLATE_BYTES_MAX)} of sources: create another`,
} as const;
export type TemplateLimit = keyof typeof TEMPLATE_LIMITS;

export function isTemplateLimit(outcome: string): outcome is TemplateLimit {
  return Object.hasOwn(TEMPLATE_LIMITS, outcome);
}
