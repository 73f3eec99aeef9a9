import { createReadStream } from "node:fs";
import { refuse } from "./command.ts";

const STDIN = "-";

/** A file that a command reads, or standard input. */
export interface InputFile {
  /** What messages call it. */
  readonly name: string;
  /** Its bytes. Fails as a file does: see {@link refuseUnreadable}. */
  readonly stream: AsyncIterable<Uint8Array>;
}

/** Opens the file that an argument names; `-` is standard input. */
export function openInputFile(file: string): InputFile {
  return file === STDIN
    ? { name: "standard input", stream: process.stdin }
    : { name: file, stream: createReadStream(file) };
}

/** Ends a command whose input cannot be read. */
export function refuseUnreadable({ name }: Pick<InputFile, "name">, { code }: NodeJS.ErrnoException): never {
  return refuse(`${name} cannot be read (${code})`);
}
