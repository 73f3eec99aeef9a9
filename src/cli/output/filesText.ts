import { bytesText, counted } from "../../kernel/text/readableNumbers.ts";

/** How many files there are and how large they are together, as people read it: "3 files, 24 kB". */
export function filesText({ files, bytes }: { readonly files: number; readonly bytes: number }): string {
  return `${counted(files, "file", "files")}, ${bytesText(bytes)}`;
}
