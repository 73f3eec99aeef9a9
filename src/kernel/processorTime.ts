export function threadProcessorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Processor time of all other threads of this process together so far, in ms: none of them has used more. */
export function otherThreadsProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 - threadProcessorMs();
}
