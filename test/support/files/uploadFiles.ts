/** A file as a test sends it. */
export interface SampleFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

let number = 0;

/** A small PDF that no other test has. */
export function pdf(filename = "invoice.pdf"): SampleFile {
  number += 1;
  const body = `1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n% ${number}\n%%EOF\n`;
  return { filename, contentType: "application/pdf", bytes: Buffer.from(`%PDF-1.4\n${body}`) };
}

/** A PNG of one pixel. */
export function png(filename = "dot.png"): SampleFile {
  const text =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
  return { filename, contentType: "image/png", bytes: Uint8Array.fromBase64(text) };
}

/** Plain text of this many bytes. */
export function txt(bytes: number, filename = "notes.txt"): SampleFile {
  return { filename, contentType: "text/plain", bytes: Buffer.alloc(bytes, "text ") };
}

/** The file as an element of a send's `attachments`, and as the JSON body of an upload. */
export function direct({ filename, contentType, bytes }: SampleFile) {
  return { filename, content_type: contentType, content: bytes.toBase64() };
}

/** A file as a form has it. `contentType` is null if its part declares no type. */
export type FormFile = Omit<SampleFile, "contentType"> & { readonly contentType: string | null };

/** The file as the body and the headers of a multipart/form-data request (RFC 7578). */
export function formOf({ filename, contentType, bytes }: FormFile) {
  const boundary = `form-${crypto.randomUUID()}`;
  const disposition = `Content-Disposition: form-data; name="file"; filename="${filename}"`;
  const type = contentType === null ? "" : `Content-Type: ${contentType}\r\n`;
  const head = `--${boundary}\r\n${disposition}\r\n${type}\r\n`;
  const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { body, headers: { "content-type": `multipart/form-data; boundary=${boundary}` } };
}
