import type { EmailView } from "../../../commands/email/readEmail.ts";

const NEVER_KEPT = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

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

/** Answers with the HTML of a message, for its frame. */
export function bodyResponse(html: string): Response {
  // The first `base` counts, so a mail's own cannot open a link inside the frame.
  return new Response(`<base target="_blank">${html}`, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": BODY_POLICY,
      "referrer-policy": "no-referrer",
      "x-frame-options": "SAMEORIGIN",
      ...NEVER_KEPT,
    },
  });
}

/** Answers with bytes as a download; nothing in them is shown or run. */
export function downloadResponse(
  bytes: Uint8Array<ArrayBuffer>,
  name: string,
  contentType: string,
): Response {
  return new Response(bytes, {
    headers: {
      "content-type": contentType,
      "content-disposition": `attachment; filename="${asciiName(name)}"; filename*=UTF-8''${encodedName(name)}`,
      "content-security-policy": "sandbox; default-src 'none'",
      ...NEVER_KEPT,
    },
  });
}

/** A file name for clients that read no other form (RFC 6266 §4.3). */
function asciiName(name: string): string {
  return name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
}

/** RFC 8187. */
function encodedName(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A file of a message, by its index. */
export function fileAt({ content }: EmailView, index: string) {
  return /^\d{1,2}$/.test(index) ? content?.attachments?.[Number(index)] : undefined;
}
