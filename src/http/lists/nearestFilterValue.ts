import { nearestName } from "../../kernel/text/nearestName.ts";

/**
 * The value most likely meant by the first of the texts that is none: one with a similar name, or with the text as one
 * of its words (`full` in `mailbox_full`). Null if there is no such value.
 */
export function nearestFilterValue(values: readonly string[], texts: readonly string[]): string | null {
  const wrong = texts.find((text) => !values.includes(text)) ?? "";
  const byWord = values.find((value) => value.split("_").includes(wrong.toLowerCase()));
  return nearestName(wrong, values) ?? byWord ?? null;
}
