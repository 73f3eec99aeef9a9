/** What a page of the dashboard may load and where it may lead: this service alone. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers of every page of the dashboard. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Not `no-referrer`: with that a browser keeps its origin to itself when it sends a form.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-robots-tag": "noindex",
};

/** A page or a part of one as an answer; `html` is escaped already. */
export function htmlResponse(
  html: string,
  status: number,
  headers: Readonly<Record<string, string>>,
): Response {
  return new Response(html, { status, headers: { ...PAGE_HEADERS, ...headers } });
}
