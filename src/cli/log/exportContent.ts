import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { copyContentTree } from "../../adapters/directory/copyContentTree.ts";
import { syncFolder } from "../../adapters/directory/durableFile.ts";
import type { Config } from "../../service/config/config.ts";
import { filesText } from "../output/filesText.ts";
import { progressBar } from "../output/progressBar.ts";

/** What was copied. */
export interface ExportedContent {
  readonly files: number;
  readonly bytes: number;
}

/** Copies the content directory to one that is not there yet: it has its name once all is in it. */
export async function exportContent({ contentUrl }: Config, target: string): Promise<ExportedContent> {
  const partial = `${target}.partial`;
  const bar = progressBar("content");
  let [files, bytes] = [0, 0];
  await rm(partial, { recursive: true, force: true });
  for await (const file of copyContentTree(contentUrl.slice("file:".length), partial)) {
    files += 1;
    bytes += file.bytes;
    bar.show(0, filesText({ files, bytes }));
  }
  await rename(partial, target);
  await syncFolder(dirname(target));
  bar.end();
  return { files, bytes };
}
