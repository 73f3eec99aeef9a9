const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text escaped for HTML, between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** One line of text; what is between backticks is code, between double asterisks strong. */
export function inline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
}

/** Paragraphs, divided by blank lines. */
export function prose(text: string): string {
  return text
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.trim() !== "")
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join("\n");
}

/** Headers of a page with this style in it: no font, no image, no frame, and nothing else but what `further` lets in. */
export function pageHeaders(style: string, ...further: readonly string[]): Readonly<Record<string, string>> {
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
