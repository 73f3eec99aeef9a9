/**
 * Waits until standard output has taken everything written to it, which an exit would cut off. Returns the exit status:
 * `status`, or 1 if something could not be written. A reader that has closed the pipe, or the terminal, has had enough.
 */
export async function flushStandardOutput(status: number): Promise<number> {
  const gone = process.stdout.isTTY ? "EIO" : "EPIPE";
  const failure = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    process.stdout.on("error", resolve);
    process.stdout.end(() => resolve(null));
  });
  if (failure === null || failure.code === gone) return status;
  process.stderr.write(`postledger: standard output could not be written: ${failure.message}\n`);
  return status === 0 ? 1 : status;
}
