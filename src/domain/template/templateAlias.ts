import { derivedId } from "../../kernel/ids.ts";

export const ALIAS_CHARACTERS_MAX = 64;
/** What an alias looks like: it names a member of a request and a folder. */
export const ALIAS_PATTERN = `^[a-z][a-z0-9._-]{0,${ALIAS_CHARACTERS_MAX - 1}}$`;
/** What {@link ALIAS_PATTERN} requires, as the end of a sentence. */
export const ALIAS_RULE = `must be 1 to ${ALIAS_CHARACTERS_MAX} characters of a-z, 0-9, dot, hyphen and underscore, and begin with a letter`;

const ALIAS = new RegExp(ALIAS_PATTERN);

export function isAlias(text: string): boolean {
  return ALIAS.test(text);
}

/** No Idempotency-Key holds a line break, so no message has the id of a template. */
const ID_PREFIX = "template\n";

/**
 * The id of the one template that a workspace can have under an alias. It names the template's stream, so only one of
 * several racing requests can begin it, and a send finds the template without a look-up.
 */
export function templateIdOfAlias(workspaceId: string, alias: string): string {
  return derivedId(workspaceId, ID_PREFIX + alias);
}
