/** Headers of a page with this style inside: nothing else may load, except what `further` allows. */
export function referenceHeaders(
  style: string,
  ...further: readonly string[]
): Readonly<Record<string, string>> {
  const digest = new Bun.CryptoHasher("sha256").update(style).digest("base64");
  const rules = [
    "default-src 'none'",
    `style-src 'sha256-${digest}'`,
    ...further,
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [...rules, "frame-ancestors 'none'"].join("; "),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
  };
}
