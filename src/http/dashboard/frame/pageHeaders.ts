/** What a dashboard page may load and link to: only this service. */
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

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Not `no-referrer`: browsers then omit the Origin of a submitted form.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-robots-tag": "noindex",
};

/** Answers with a page or part of one; `html` is already escaped. */
export function htmlResponse(
  html: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(html, { status, headers: { ...PAGE_HEADERS, ...headers } });
}
