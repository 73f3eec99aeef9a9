const SIGNATURE_BYTES_MAX = 8;

/** Makes a test for bytes that begin with one of these signatures, in lower-case hex. */
function beginsWith(...signatures: readonly string[]): (bytes: Uint8Array) => boolean {
  return (bytes) => {
    const head = bytes.subarray(0, SIGNATURE_BYTES_MAX).toHex();
    return signatures.some((signature) => head.startsWith(signature));
  };
}

const MACH_O = ["feedface", "feedfacf", "cefaedfe", "cffaedfe"];
/** A program for Windows, Linux or macOS, a Java class, or a script. */
export const isProgram = beginsWith("4d5a", "7f454c46", ...MACH_O, "cafebabe", "2321");
/** A zip, RAR or 7-Zip archive. */
export const isArchive = beginsWith("504b0304", "504b0506", "526172211a07", "377abcaf271c");
/** An OLE compound file: an old Office file, a packaged object, a Visual Basic project. */
export const isOleFile = beginsWith("d0cf11e0a1b11ae1");
