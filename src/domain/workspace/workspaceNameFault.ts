import { isUuid } from "../../kernel/ids.ts";
import { displayNameFault } from "../../kernel/text/displayNameFault.ts";

/** What is wrong with the name of a workspace, which must not be taken for another one or for an id; null if nothing is. */
export function workspaceNameFault(name: string): string | null {
  if (isUuid(name.trim())) return "must not have the form of an id";
  const fault = displayNameFault(name);
  if (fault === null && name !== name.trim()) return "must not begin or end with a space";
  return fault;
}
