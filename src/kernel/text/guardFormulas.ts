/** What a spreadsheet takes for the beginning of a formula, full-width characters included, guarded or not. */
const FORMULA = /^['\s]*[=+\-@\t\r|＝＋－＠]/;
/** The same further on, after a whole gap, so that a long gap is read once only. */
const FORMULA_WITHIN = /(?<![;\s])([;\s]+)('*)(?=[=+@|＝＋－＠]|-(?!\)))/g;
/** Where a spreadsheet that splits at semicolons, as many do, begins further cells: it ignores quotes. */
const CELL_END = /[;\t\r\n]/;

/**
 * The text with an apostrophe before anything that a spreadsheet would take for a formula. What already has apostrophes
 * there gets one more, so {@link unguardFormulas} restores every text exactly.
 */
export function guardFormulas(text: string): string {
  const within = text.replace(FORMULA_WITHIN, (whole, gap: string, apostrophes: string) =>
    CELL_END.test(gap) ? `${gap}'${apostrophes}` : whole,
  );
  return FORMULA.test(within) ? `'${within}` : within;
}

/** A text as one field of CSV (RFC 4180), guarded: anybody may have written a subject or a template's name. */
export function csvField(text: string): string {
  const safe = guardFormulas(text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The text that {@link guardFormulas} was given. */
export function unguardFormulas(guarded: string): string {
  const within = guarded.startsWith("'") && FORMULA.test(guarded) ? guarded.slice(1) : guarded;
  return within.replace(FORMULA_WITHIN, (whole, gap: string, apostrophes: string) =>
    CELL_END.test(gap) ? `${gap}${apostrophes.slice(1)}` : whole,
  );
}
