/** Fields of a report by their names in lower case; each may occur more than once. */
export type ReportFields = ReadonlyMap<string, readonly string[]>;

/** More groups or lines than this no report needs: one group for each recipient, and we send to one. */
const GROUPS_MAX = 50;
const LINES_MAX = 2_000;
const VALUE_CHARACTERS_MAX = 2_000;

const FIELD = /^([A-Za-z][A-Za-z0-9-]{0,60})[ \t]*:(.*)$/;
/** The names without a hyphen. Of all other words before a colon, a server's reply may have broken there. */
const PLAIN_NAMES = new Set(["action", "status", "version", "incidents"]);

/** The lines of each group; an empty line ends one. */
function lineGroups(text: string): readonly (readonly string[])[] {
  const groups: string[][] = [[]];
  for (const line of text.split(/\r\n|\r|\n/, LINES_MAX)) {
    if (line.trim() !== "") groups.at(-1)?.push(line);
    else if (groups.at(-1)?.length !== 0) groups.push([]);
    if (groups.length > GROUPS_MAX) break;
  }
  return groups.filter((lines) => lines.length > 0);
}

/** The fields of lines, of which those that are none go on with the one before. */
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
 * Reads groups of fields as in RFC 3464 §2.1 and RFC 5965 §3.1, with any line ends, and with continuations that were
 * not indented. Pure, and bounded whatever the text is.
 */
export function reportFields(text: string): readonly ReportFields[] {
  return lineGroups(text).map((lines) =>
    fieldsOf(lines, (name) => name.includes("-") || PLAIN_NAMES.has(name)),
  );
}

/** The fields of a message's header (RFC 5322 §2.2), to its first empty line. */
export function headerFields(text: string): ReportFields {
  const [lines = []] = lineGroups(text);
  return fieldsOf(lines, (_, line) => !/^[ \t]/.test(line));
}

/** The first value of a field; "" when it is not there. */
export function fieldOf(fields: ReportFields, name: string): string {
  return fields.get(name)?.[0] ?? "";
}
