const WHITE_SPACE = /[\t\n\f\r ]/;

/** How many bytes a text in Base64 decodes to, by its length alone: a file that is too large is never decoded. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((text.length * 3) / 4) - padding);
}

/** The bytes behind standard Base64 (RFC 4648, section 4) with its padding and nothing between; else null. */
export function decodeBase64(text: string): Uint8Array | null {
  // The engine's strict way of decoding still permits white space.
  if (WHITE_SPACE.test(text)) return null;
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return null;
  }
}
