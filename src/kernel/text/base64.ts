const WHITE_SPACE = /[\t\n\f\r ]/;

/** How many bytes a Base64 text decodes to, computed from its length, so that a file too large is never decoded. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((text.length * 3) / 4) - padding);
}

/** What is wrong with a text that {@link decodeBase64} refuses, as the end of a sentence. */
export function base64Fault(text: string): string {
  const fault = "is not standard Base64";
  if (/[\r\n]/.test(text)) return `${fault}: it contains line breaks`;
  if (/^[A-Za-z0-9_-]+=*$/.test(text) && /[_-]/.test(text))
    return `${fault}, but its URL-safe form: write + for each -, and / for each _`;
  const isUnpadded = /^[A-Za-z0-9+/]+$/.test(text) && text.length % 4 > 1;
  return isUnpadded ? `${fault}: it lacks its padding, one or two = at the end` : fault;
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
