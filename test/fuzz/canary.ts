/** A workspace's mark: every canary that it plants begins so. */
export type Mark = string & { readonly mark: unique symbol };

const MARK_CHARACTERS = 5;
const SERIAL_CHARACTERS = 7;
const CANARY = new RegExp(`cnry([0-9a-z]{${MARK_CHARACTERS}})[0-9a-z]{${SERIAL_CHARACTERS}}`, "gi");

const marks = new Set<string>();

/** Lower-case letters and digits alone, so that every place takes it: a name, an address, a host. */
export function markOf(workspace: number): Mark {
  const mark = workspace.toString(36).padStart(MARK_CHARACTERS, "0") as Mark;
  marks.add(mark);
  return mark;
}

export function canary(mark: Mark, serial: number): string {
  return `cnry${mark}${serial.toString(36).padStart(SERIAL_CHARACTERS, "0")}`;
}

/** Every canary in `text`, whose ever it is. What only looks like one has a mark that no workspace has: a random id. */
export function canariesIn(text: string): readonly { readonly canary: string; readonly mark: string }[] {
  if (!text.includes("nry") && !text.includes("NRY")) return [];
  return [...text.matchAll(CANARY)]
    .map(([found, mark = ""]) => ({ canary: found.toLowerCase(), mark: mark.toLowerCase() }))
    .filter(({ mark }) => marks.has(mark));
}
