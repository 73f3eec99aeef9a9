import { directoryContentStore } from "../../adapters/directory/directoryContentStore.ts";
import { s3ContentStore } from "../../adapters/s3/s3ContentStore.ts";
import type { ContentStore } from "../../ports/contentStore.ts";
import type { Config } from "../config/config.ts";

/** The content store that CONTENT_URL names. */
export function openContentStore(config: Config): ContentStore {
  if (config.s3 !== null) return s3ContentStore({ ...config.s3, timeoutMs: config.contentTimeoutMs });
  return directoryContentStore(config.contentUrl.slice("file:".length));
}
