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
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
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
