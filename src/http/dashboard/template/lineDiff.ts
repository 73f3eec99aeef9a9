import { diffArrays } from "diff";

/** A line of a text, counted from 1. */
export interface DiffLine {
  readonly number: number;
  readonly text: string;
}

/** One row of two texts side by side; null if a text has no line for it. */
export type DiffRow =
  | { readonly kind: "same" | "changed"; readonly old: DiffLine; readonly new: DiffLine }
  | { readonly kind: "removed"; readonly old: DiffLine; readonly new: null }
  | { readonly kind: "added"; readonly old: null; readonly new: DiffLine }
  /** Lines left out because they are the same in both. */
  | { readonly kind: "folded"; readonly lines: number }
  /** The last row if there is more than is shown. */
  | { readonly kind: "cut" };

/** Unchanged lines to show above and below a change; the rest is folded. */
const CONTEXT_LINES = 3;
/** Lines removed and added, beyond which the texts have little in common: the cost grows with the square. */
const EDITS_MAX = 500;
/** Lines of each text to compare, and rows to show: a text may have half a million lines. */
const LINES_COMPARED_MAX = 10_000;
export const ROWS_SHOWN_MAX = 2_000;

/** Two texts side by side, by lines. Texts that differ almost everywhere are shown as replaced completely. */
export function lineDiff(old: string, next: string): readonly DiffRow[] {
  const all = [linesOf(old), linesOf(next)];
  const [oldLines = [], newLines = []] = all.map((lines) => lines.slice(0, LINES_COMPARED_MAX));
  const parts = diffArrays(oldLines, newLines, { maxEditLength: EDITS_MAX }) ?? [
    { value: oldLines, removed: true, added: false },
    { value: newLines, removed: false, added: true },
  ];
  const rows: DiffRow[] = [];
  const at = { old: 1, new: 1 };
  const line = (side: "old" | "new", text: string): DiffLine => ({ number: at[side]++, text });
  let removed: readonly string[] = [];
  const flush = (added: readonly string[]) => {
    for (let nth = 0; nth < Math.max(removed.length, added.length); nth += 1)
      rows.push(changedRow(removed[nth], added[nth], line));
    removed = [];
  };
  for (const part of parts) {
    if (part.removed) removed = part.value;
    else if (part.added) flush(part.value);
    else {
      flush([]);
      for (const text of part.value)
        rows.push({ kind: "same", old: line("old", text), new: line("new", text) });
    }
  }
  flush([]);
  const shown = folded(rows);
  const isCut = shown.length > ROWS_SHOWN_MAX || all.some((lines) => lines.length > LINES_COMPARED_MAX);
  return isCut ? [...shown.slice(0, ROWS_SHOWN_MAX), { kind: "cut" }] : shown;
}

function changedRow(
  removed: string | undefined,
  added: string | undefined,
  line: (side: "old" | "new", text: string) => DiffLine,
): DiffRow {
  if (added === undefined) return { kind: "removed", old: line("old", removed ?? ""), new: null };
  if (removed === undefined) return { kind: "added", old: null, new: line("new", added) };
  return { kind: "changed", old: line("old", removed), new: line("new", added) };
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.split("\n");
}

/** Folds unchanged lines far from every change. */
function folded(rows: readonly DiffRow[]): readonly DiffRow[] {
  const near = new Set<number>();
  rows.forEach(({ kind }, index) => {
    if (kind === "same") return;
    for (let other = index - CONTEXT_LINES; other <= index + CONTEXT_LINES; other += 1) near.add(other);
  });
  const shown: DiffRow[] = [];
  rows.forEach((row, index) => {
    const last = shown.at(-1);
    if (near.has(index)) shown.push(row);
    else if (last?.kind === "folded") shown[shown.length - 1] = { kind: "folded", lines: last.lines + 1 };
    else shown.push({ kind: "folded", lines: 1 });
  });
  return shown;
}
