import type { EmailView } from "../../../commands/email/readEmail.ts";

const NEVER_KEPT = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * What the HTML of a mail may do in its frame: show itself. It runs in a sandbox without an origin, loads nothing but
 * what it holds itself, sends nothing; links open beside it.
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

/** The HTML of a message, for its frame. */
export function bodyResponse(html: string): Response {
  // The first `base` counts, so what a mail says itself cannot bring a link into the frame.
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

/** Bytes to keep as a file, whatever they are: nothing of it is shown or run. */
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

/** A name for clients that read no other (RFC 6266 §4.3). */
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

/** A file of a message, by its place. */
export function fileAt({ content }: EmailView, index: string) {
  return /^\d{1,2}$/.test(index) ? content?.attachments?.[Number(index)] : undefined;
}
