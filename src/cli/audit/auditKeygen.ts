import { open, rm } from "node:fs/promises";
import { newSigningKey, publicKeyPem } from "../../kernel/crypto/auditSigningKey.ts";
import { FILE_MODE } from "../../kernel/fileModes.ts";
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
    const made: string[] = [];
    const write = async (path: string, text: string, mode: number) => {
      await using handle = await open(path, "wx", mode);
      made.push(path);
      await handle.writeFile(text);
      await handle.sync();
    };
    try {
      await write(file, pem, FILE_MODE);
      await write(`${file}.pub`, publicKeyPem(publicKey), 0o644);
    } catch (error) {
      for (const path of made) await rm(path, { force: true });
      const { code, path } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") refuse(`${path} already exists and is not overwritten`);
      throw error;
    }
    print({ private_key: file, public_key: `${file}.pub` }, [
      `private key in ${file}: set AUDIT_SIGNING_KEY_FILE to it`,
      `public key in ${file}.pub: keep it where nobody who can write the log can change it`,
    ]);
  },
};
