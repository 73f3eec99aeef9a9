/**
 * A name as somebody may read it whom it was not meant for: letters, digits and a little between them, so that it holds
 * no link, no address and no line of its own. Empty when nothing is left.
 */
export function nameWithoutLinks(name: string, charactersMax: number): string {
  const plain = name.replace(/[^\p{L}\p{M}\p{N}&'-]+/gu, " ").trim();
  return [...plain].slice(0, charactersMax).join("").trim();
}
