/** The first bytes of what runs on Windows, Linux and macOS, of Java classes, and of scripts. */
const PROGRAMS: readonly string[] = [
  "4d5a",
  "7f454c46",
  "feedface",
  "feedfacf",
  "cefaedfe",
  "cffaedfe",
  "cafebabe",
  "2321",
];
/** The first bytes of zip, RAR and 7-Zip archives. */
const ARCHIVES: readonly string[] = ["504b0304", "504b0506", "526172211a07", "377abcaf271c"];
/** The first bytes of an OLE compound file: old Office files, packaged objects, Visual Basic projects. */
const OLE_FILE: readonly string[] = ["d0cf11e0a1b11ae1"];

const SIGNATURE_BYTES_MAX = 8;

function beginsWith(bytes: Uint8Array, signatures: readonly string[]): boolean {
  const head = bytes.subarray(0, SIGNATURE_BYTES_MAX).toHex();
  return signatures.some((signature) => head.startsWith(signature));
}

export function isProgram(bytes: Uint8Array): boolean {
  return beginsWith(bytes, PROGRAMS);
}

export function isArchive(bytes: Uint8Array): boolean {
  return beginsWith(bytes, ARCHIVES);
}

export function isOleFile(bytes: Uint8Array): boolean {
  return beginsWith(bytes, OLE_FILE);
}
