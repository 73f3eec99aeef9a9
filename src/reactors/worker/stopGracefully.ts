/** Waits up to `graceMs` for `ended`. Then it aborts `abandoned` and returns, whatever is still under way. */
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
