/** Processor time of this thread so far, in ms. */
export function threadProcessorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
