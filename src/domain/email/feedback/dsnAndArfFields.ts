/** Fields of a report by their names in lower case; each may occur more than once. */
export type ReportFields = ReadonlyMap<string, readonly string[]>;

/** No report needs more groups or lines than this: it has one group for each recipient, and we send to one. */
const GROUPS_MAX = 50;
const LINES_MAX = 2_000;
const VALUE_CHARACTERS_MAX = 2_000;

const FIELD = /^([A-Za-z][A-Za-z0-9-]{0,60})[ \t]*:(.*)$/;
/** The field names without a hyphen. Any other word before a colon may come from a server's reply that wrapped. */
const PLAIN_NAMES = new Set(["action", "status", "version", "incidents"]);

/** The lines of each group; an empty line ends a group. */
function lineGroups(text: string): readonly (readonly string[])[] {
  const groups: string[][] = [[]];
  for (const line of text.split(/\r\n|\r|\n/, LINES_MAX)) {
    if (line.trim() !== "") groups.at(-1)?.push(line);
    else if (groups.at(-1)?.length !== 0) groups.push([]);
    if (groups.length > GROUPS_MAX) break;
  }
  return groups.filter((lines) => lines.length > 0);
}

/** Reads fields from lines. A line that is no field continues the field before it. */
function fieldsOf(lines: readonly string[], isField: (name: string, line: string) => boolean): ReportFields {
  const fields = new Map<string, string[]>();
  let values: string[] = [];
  for (const line of lines) {
    const [, name = "", value = ""] = FIELD.exec(line) ?? [];
    const key = name.toLowerCase();
    const last = values.length - 1;
    if (key !== "" && isField(key, line)) {
      values = fields.getOrInsertComputed(key, () => []);
      values.push(value.trim().slice(0, VALUE_CHARACTERS_MAX));
    } else if (last >= 0) {
      values[last] = `${values[last]} ${line.trim()}`.trim().slice(0, VALUE_CHARACTERS_MAX);
    }
  }
  return fields;
}

/**
 * Reads groups of fields as in RFC 3464 §2.1 and RFC 5965 §3.1. Accepts any line endings, and continuation lines that
 * are not indented. Pure, and bounded for any text.
 */
export function reportFields(text: string): readonly ReportFields[] {
  return lineGroups(text).map((lines) =>
    fieldsOf(lines, (name) => name.includes("-") || PLAIN_NAMES.has(name)),
  );
}

/** The fields of a message's header (RFC 5322 §2.2), up to the first empty line. */
export function headerFields(text: string): ReportFields {
  const [lines = []] = lineGroups(text);
  return fieldsOf(lines, (_, line) => !/^[ \t]/.test(line));
}

/** The first value of a field; "" when it is not there. */
export function fieldOf(fields: ReportFields, name: string): string {
  return fields.get(name)?.[0] ?? "";
}
