const LINE_FEED = 10;

/**
 * The lines of a stream in UTF-8, one at a time and without their line feeds; null for a line of more than
 * `lineBytesMax` bytes, of which no more than that is held in memory. Throws what the stream throws.
 */
export async function* boundedLines(
  stream: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<string | null> {
  const decoder = new TextDecoder();
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const add = (part: Uint8Array) => {
    bytes += part.byteLength;
    if (bytes > lineBytesMax) parts = [];
    else parts.push(part);
  };
  const endLine = () => {
    const line = bytes > lineBytesMax ? null : decoder.decode(Buffer.concat(parts));
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end));
      yield endLine();
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  if (bytes > 0) yield endLine();
}
