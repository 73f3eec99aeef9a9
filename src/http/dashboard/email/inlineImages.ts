/** A file that a mail's HTML shows by its Content-ID. */
export interface InlineImage {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** Images in the HTML come to so many characters at most: one may be in it any number of times. */
const INLINE_CHARACTERS_MAX = 16_000_000;

/** Where HTML and the style sheets in it name an image by its Content-ID (RFC 2392). */
const REFERENCE =
  /(\b(?:src|background)\s*=\s*["']?|\burl\(\s*(?:["']|&quot;|&#39;)?)cid:((?:(?!&quot;|&#39;)[^\s"'<>)])+)/gi;

/** The Content-IDs that the HTML of a mail refers to, each once. */
export function referredImages(html: string): readonly string[] {
  return [...new Set([...html.matchAll(REFERENCE)].map(([, , address = ""]) => contentIdOf(address)))];
}

/**
 * The HTML with the images themselves (RFC 2397) in place of their Content-IDs: its frame may ask nobody for them. What
 * is no image, or not among `images`, is left as it is, and so is what would make the page too long.
 */
export function withInlineImages(html: string, images: ReadonlyMap<string, InlineImage>): string {
  const addresses = new Map<string, string>();
  let characters = 0;
  return html.replaceAll(REFERENCE, (whole: string, before: string, address: string) => {
    const id = contentIdOf(address);
    const data = addresses.getOrInsertComputed(id, () => dataAddress(images.get(id)));
    if (data === "" || characters + data.length > INLINE_CHARACTERS_MAX) return whole;
    characters += data.length;
    return before + data;
  });
}

/** The id behind `cid:`, as the mail's headers have it. */
function contentIdOf(address: string): string {
  const text = address.replaceAll("&amp;", "&");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An image as an address; "" for what is none. */
function dataAddress(image: InlineImage | undefined): string {
  if (image === undefined || !/^image\/[a-z0-9.+-]+$/.test(image.contentType)) return "";
  return `data:${image.contentType};base64,${image.bytes.toBase64()}`;
}
