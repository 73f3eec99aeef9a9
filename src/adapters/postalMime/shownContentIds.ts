/** The address of another part of the mail (RFC 2392), as html or a style sheet in it writes it. */
const ADDRESS =
  /\bcid:((?:(?!&(?:quot|#34|#39|#x22|#x27);)(?:&(?:amp|#\d+|#x[\da-f]+);|[\w.@!#$%&*+/=?^`{|}~-]))+)/gi;

/**
 * The Content-IDs that the html refers to. An address is percent-encoded, but many programs write the id as it is, so
 * each stands for both.
 */
export function shownContentIds(html: string): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const [, address = ""] of html.matchAll(ADDRESS)) {
    const id = withoutEntities(address);
    ids.add(id).add(percentDecoded(id));
  }
  return ids;
}

function withoutEntities(text: string): string {
  return text.replace(/&(?:amp|#(\d+)|#x([\da-f]+));/gi, (_, decimal?: string, hex?: string) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? "26", 16) : Number(decimal);
    return code <= 0x7f ? String.fromCharCode(code) : "\ufffd";
  });
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
