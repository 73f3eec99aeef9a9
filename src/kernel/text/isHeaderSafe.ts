/**
 * Whether `value` can be the text of one header line: no control character (Cc of Unicode), because some break lines
 * (RFC 5322 §2.2) and others control terminals. A tab is white space there. Characters that set the direction of text
 * are no control characters in this sense: right-to-left subjects need them around names and numbers.
 */
export function isHeaderSafe(value: string): boolean {
  return !/[^\P{Cc}\t]/u.test(value);
}
