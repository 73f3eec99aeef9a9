import { directoryContentStore } from "../../adapters/directory/directoryContentStore.ts";
import { s3ContentStore } from "../../adapters/s3/s3ContentStore.ts";
import type { ContentStore } from "../../ports/contentStore.ts";
import type { Config } from "../config/config.ts";

export function openContentStore({ content, contentTimeoutMs }: Config): ContentStore {
  switch (content.kind) {
    case "directory":
      return directoryContentStore(content.directory);
    case "s3":
      return s3ContentStore({ ...content.s3, timeoutMs: contentTimeoutMs });
  }
}
