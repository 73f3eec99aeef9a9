/** A fenced block of a page. */
export interface Block {
  /** `sh` is run; `json` and `text` behind it are what it prints. */
  readonly language: string;
  readonly text: string;
  /** Where its first line stands in the page, counted from 1. */
  readonly line: number;
  /** Why it is not run or not compared, from `<!-- not run: … -->` above it; null: it is. */
  readonly notRun: string | null;
  /** The exit status of its last command, from `<!-- exit status: … -->` above it. */
  readonly exitStatus: number;
}

/** A page of the documentation. */
export interface Page {
  /** From the root of the repository: `docs/sending.md`. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The anchors of its headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
}

const FENCE = /^( *)```(.*)$/;
const MARKER = /^ *<!-- (not run|exit status): (.+) -->$/;

/** A block whose end has not come by yet. */
interface OpenBlock {
  readonly language: string;
  readonly indent: number;
  readonly line: number;
  readonly markers: ReadonlyMap<string, string>;
  readonly lines: string[];
}

function closed({ language, indent, line, markers, lines }: OpenBlock): Block {
  return {
    language,
    text: lines.map((text) => text.slice(Math.min(indent, text.search(/\S|$/)))).join("\n"),
    line,
    notRun: markers.get("not run") ?? null,
    exitStatus: Number(markers.get("exit status") ?? 0),
  };
}

/** The markers right above a line, empty lines left out. */
function markersAbove(lines: readonly string[], index: number): ReadonlyMap<string, string> {
  const markers = new Map<string, string>();
  for (let at = index - 1; at >= 0; at -= 1) {
    const line = lines[at] as string;
    const [, name, value] = MARKER.exec(line) ?? [];
    if (name !== undefined && value !== undefined) markers.set(name, value);
    else if (line.trim() !== "") break;
  }
  return markers;
}

function blocksOf(lines: readonly string[]): readonly Block[] {
  const blocks: Block[] = [];
  let open: OpenBlock | null = null;
  for (const [index, line] of lines.entries()) {
    const [, indent = "", language] = FENCE.exec(line) ?? [];
    if (language === undefined) open?.lines.push(line);
    else if (open === null) {
      const markers = markersAbove(lines, index);
      open = { language: language.trim(), indent: indent.length, line: index + 2, markers, lines: [] };
    } else {
      blocks.push(closed(open));
      open = null;
    }
  }
  if (open !== null) throw new Error(`the block at line ${open.line} does not end`);
  return blocks;
}

/** The anchor that GitHub gives a heading. */
function slug(heading: string): string {
  const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
  return words.replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-");
}

/** The text without its fenced blocks. */
export function proseOf(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, "");
}

export function parsePage(path: string, text: string): Page {
  const headings = [...proseOf(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => slug(heading));
  return { path, text, blocks: blocksOf(text.split("\n")), anchors: new Set(headings) };
}
