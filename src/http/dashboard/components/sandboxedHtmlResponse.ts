/**
 * What a mail's HTML may do in its frame: only show itself. It runs in a sandbox without an origin, loads nothing
 * from outside and sends nothing; links open in a new tab.
 */
const BODY_POLICY = [
  "sandbox allow-popups allow-popups-to-escape-sandbox",
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join("; ");

/** Answers with a mail's HTML, for a `SandboxedHtmlFrame`. */
export function sandboxedHtmlResponse(html: string): Response {
  // The first `base` counts, so a mail's own cannot open a link inside the frame.
  return new Response(`<base target="_blank">${html}`, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": BODY_POLICY,
      "referrer-policy": "no-referrer",
      "x-frame-options": "SAMEORIGIN",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
