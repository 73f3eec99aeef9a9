import { plainText, type VersionContent } from "../../domain/template/versionContent.ts";

/** The files in the folder of a template, which has its alias for a name. Subject, name and variables are in the first. */
export const SETTINGS_FILE = "template.json";
export const PART_FILES = { html: "html.liquid", text: "text.liquid" } as const;

/** The part of a version in a file: editors end its last line, which is none of the mail. */
export function partOf(text: string): string {
  return plainText(text).replace(/\n$/, "");
}

/** The files of a template, by name. */
export function templateFiles(
  name: string,
  { subject, html, text, variables }: VersionContent,
): ReadonlyMap<string, string> {
  const declared = variables.map(({ required, ...variable }) => ({
    ...variable,
    ...(required && { required }),
  }));
  const parts = [
    [PART_FILES.html, html],
    [PART_FILES.text, text],
  ] as const;
  return new Map([
    [SETTINGS_FILE, settingsText({ name, subject, variables: declared })],
    ...parts.flatMap(([file, part]) => (part === null ? [] : [[file, `${plainText(part)}\n`] as const])),
  ]);
}

interface Settings {
  readonly name: string;
  readonly subject: string;
  readonly variables: readonly object[];
}

/** JSON with a line for each member and each variable. Indented further, a default could be four times as long. */
function settingsText({ variables, ...members }: Settings): string {
  const lines = Object.entries(members).map(
    ([member, value]) => `  "${member}": ${JSON.stringify(value)},\n`,
  );
  const declared = variables.map((variable) => `\n    ${JSON.stringify(variable)}`).join(",");
  return `{\n${lines.join("")}  "variables": [${declared}${declared && "\n  "}]\n}\n`;
}
