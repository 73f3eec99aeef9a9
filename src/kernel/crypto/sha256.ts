/** The SHA-256 of bytes, or of a text in UTF-8, in lower-case hex. */
export function sha256Of(data: Uint8Array | string): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}
