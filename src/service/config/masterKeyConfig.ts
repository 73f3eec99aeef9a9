import type { EnvironmentReader } from "./environmentReader.ts";

const MASTER_KEY_BYTES = 32;

/** The key that the keys of a log are derived from or encrypted with. */
export type MasterKeyConfig = Readonly<ReturnType<typeof readMasterKeyConfig>>;

export function readMasterKeyConfig(reader: EnvironmentReader) {
  return {
    /** 32 bytes; null: the embedded store makes its own. */
    masterKey: masterKey(reader, "MASTER_KEY"),
    /** The previous key, during a rotation; null otherwise. */
    masterKeyPrevious: masterKey(reader, "MASTER_KEY_PREVIOUS"),
  };
}

function masterKey(reader: EnvironmentReader, name: string): Uint8Array | null {
  const text = reader.secret(name);
  if (text === null) return null;
  const key = parseMasterKey(text);
  if (key === null)
    reader.errors.push(
      `${reader.sourceOf(name)} must be ${MASTER_KEY_BYTES} bytes in base64 (openssl rand -base64 32)`,
    );
  return key;
}

/** Parses a master key; null unless it is 32 bytes in base64. */
export function parseMasterKey(text: string): Uint8Array | null {
  try {
    const bytes = Uint8Array.fromBase64(text.trim());
    return bytes.length === MASTER_KEY_BYTES ? bytes : null;
  } catch {
    return null;
  }
}
