const WHITE_SPACE = /[\t\n\f\r ]/;

/** How many bytes a Base64 text decodes to, computed from its length, so that a file too large is never decoded. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((text.length * 3) / 4) - padding);
}

/** Decodes standard Base64 (RFC 4648, section 4) with padding and without white space; null for anything else. */
export function decodeBase64(text: string): Uint8Array | null {
  // The engine's strict decoding still permits white space.
  if (WHITE_SPACE.test(text)) return null;
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return null;
  }
}
