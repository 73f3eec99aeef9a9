import { writeFile } from "node:fs/promises";
import { newSigningKey, publicKeyPem } from "../../kernel/crypto/auditSigningKey.ts";
import { requireDirectoryOf } from "../output/requireDirectoryOf.ts";
import { type Command, refuse } from "../program/command.ts";

export const auditKeygen: Command = {
  name: "audit keygen",
  operands: [{ name: "file", help: "where the private key goes; the public one goes to <file>.pub" }],
  summary: "Create the key pair that signs and verifies seals",
  description: "Needs no installation, and overwrites nothing.",
  dataDirectory: "unused",
  examples: [
    "postledger audit keygen seal.key",
    "AUDIT_SIGNING_KEY_FILE=seal.key postledger serve # From then on seals are signed",
  ],
  async run({ operand, print }) {
    const file = operand("file");
    requireDirectoryOf(file);
    const { pem, publicKey } = newSigningKey();
    try {
      await writeFile(file, pem, { flag: "wx", mode: 0o600 });
      await writeFile(`${file}.pub`, publicKeyPem(publicKey), { flag: "wx", mode: 0o644 });
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") refuse(`${path} already exists and is not overwritten`);
      throw error;
    }
    print({ privateKey: file, publicKey: `${file}.pub` }, [
      `private key in ${file}: set AUDIT_SIGNING_KEY_FILE to it`,
      `public key in ${file}.pub: keep it where nobody who can write the log can change it`,
    ]);
  },
};
