import { bytesText, counted } from "../../kernel/text/readableNumbers.ts";

/** The number of files and their total size, for people: "3 files, 24 kB". */
export function fileCountText({ files, bytes }: { readonly files: number; readonly bytes: number }): string {
  return `${counted(files, "file")}, ${bytesText(bytes)}`;
}
