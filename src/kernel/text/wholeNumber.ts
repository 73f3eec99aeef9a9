/** The digits of the largest integer that is exact. */
const DIGITS_MAX = 16;

/**
 * The whole number that a text from outside says in decimal digits and nothing else; null when it says none, or one
 * that is not from `min` to `max`. `Number` makes NaN of what it cannot read, and NaN is within every bound.
 */
export function wholeNumber(
  text: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: { readonly min?: number; readonly max?: number } = {},
): number | null {
  if (text.length > DIGITS_MAX || !/^[0-9]+$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= min && value <= max ? value : null;
}
