/** The id in a stream's name, which is the stream's category, a hyphen, and the id. */
export function idOfStream(stream: string): string {
  return stream.slice(stream.indexOf("-") + 1);
}
