/** Whether `value` fits into one header line: no CR, LF or NUL (RFC 5322 §2.2). */
export function isHeaderSafe(value: string): boolean {
  return !/[\r\n\0]/.test(value);
}
