/**
 * Waits for `ended`, but no longer than `graceMs`: then `abandoned` is aborted, and what is still under way is left
 * alone.
 */
export async function stopGracefully(
  ended: Promise<unknown>,
  graceMs: number,
  abandoned = new AbortController(),
): Promise<void> {
  const timer = setTimeout(() => abandoned.abort(), graceMs);
  const overdue = new Promise((resolve) => abandoned.signal.addEventListener("abort", resolve));
  await Promise.race([ended, overdue]);
  clearTimeout(timer);
}
