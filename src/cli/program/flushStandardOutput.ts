/**
 * Waits until standard output has taken everything that was written to it, which an exit would cut off, and answers the
 * exit status: `status`, or 1 where something could not be written. Whoever reads no more of it has had enough.
 */
export async function flushStandardOutput(status: number): Promise<number> {
  const failure = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    process.stdout.on("error", resolve);
    process.stdout.end(() => resolve(null));
  });
  if (failure === null || failure.code === "EPIPE") return status;
  process.stderr.write(`postledger: standard output could not be written: ${failure.message}\n`);
  return status === 0 ? 1 : status;
}
