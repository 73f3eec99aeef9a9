/** The number of digits of the largest exact integer. */
const DIGITS_MAX = 16;

/**
 * The whole number in a text from outside, which must be decimal digits only; null for anything else, or if it is not
 * from `min` to `max`. `Number` would return NaN for other text, and NaN passes every range check.
 */
export function wholeNumber(
  text: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: { readonly min?: number; readonly max?: number } = {},
): number | null {
  if (text.length > DIGITS_MAX || !/^[0-9]+$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= min && value <= max ? value : null;
}
