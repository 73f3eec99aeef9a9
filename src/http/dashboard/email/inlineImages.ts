/** A file that a mail's HTML shows by its Content-ID. */
export interface InlineImage {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** The most characters of images to inline; one image may appear any number of times. */
const INLINE_CHARACTERS_MAX = 16_000_000;

/** Matches references to an image by Content-ID (RFC 2392) in HTML and its style sheets. */
const REFERENCE =
  /(\b(?:src|background)\s*=\s*["']?|\burl\(\s*(?:["']|&quot;|&#39;)?)cid:((?:(?!&quot;|&#39;)[^\s"'<>)])+)/gi;

/** The Content-IDs that a mail's HTML refers to, each once. */
export function referredImages(html: string): readonly string[] {
  return [...new Set([...html.matchAll(REFERENCE)].map(([, , address = ""]) => contentIdOf(address)))];
}

/**
 * The HTML with images inlined (RFC 2397) instead of referred to by Content-ID, because its frame may load nothing.
 * Leaves references that are not images or not in `images`, and images that would make the page too long.
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

/** The id after `cid:`, as in the mail's headers. */
function contentIdOf(address: string): string {
  const text = address.replaceAll("&amp;", "&");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An image as a data URL; "" if it is not an image. */
function dataAddress(image: InlineImage | undefined): string {
  if (image === undefined || !/^image\/[a-z0-9.+-]+$/.test(image.contentType)) return "";
  return `data:${image.contentType};base64,${image.bytes.toBase64()}`;
}
