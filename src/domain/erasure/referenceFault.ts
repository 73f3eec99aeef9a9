import { displayNameFault } from "../../kernel/text/displayNameFault.ts";

/** The longest reference of a request, in characters. */
export const REFERENCE_CHARACTERS_MAX = 100;

/** What is wrong with a request's reference, such as a ticket number; null if nothing is. No erasure reaches it. */
export function referenceFault(reference: string): string | null {
  if (reference.includes("@")) return "must not hold an address, because the log keeps it for good";
  return displayNameFault(reference, REFERENCE_CHARACTERS_MAX);
}
