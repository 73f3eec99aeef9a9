const LINE_FEED = 10;

/**
 * The lines of a stream in UTF-8, in pages and without their line feeds; null for a line of more than `lineBytesMax`
 * bytes, as soon as it is that long, so that no more than that and one chunk is held in memory. A last line without a
 * line feed comes only if `isLastWhole`. Throws what the stream throws.
 */
export async function* boundedLines(
  stream: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
  isLastWhole: boolean,
): AsyncGenerator<readonly (string | null)[]> {
  const bounded = (line: string) => (Buffer.byteLength(line) > lineBytesMax ? null : line);
  const linesOf = (parts: readonly Uint8Array[]) => Buffer.concat(parts).toString().split("\n");
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of stream) {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end >= 0) {
      const lines = linesOf([...rest, chunk.subarray(0, end)]);
      // Of a line that is too long, null has come already.
      yield lines.slice(restBytes > lineBytesMax ? 1 : 0).map(bounded);
      [rest, restBytes] = [[], 0];
    }
    const wasBounded = restBytes <= lineBytesMax;
    rest.push(chunk.subarray(end + 1));
    restBytes += chunk.length - end - 1;
    if (restBytes <= lineBytesMax) continue;
    rest = [];
    if (wasBounded) yield [null];
  }
  if (isLastWhole && rest.length > 0 && restBytes > 0) yield linesOf(rest);
}
