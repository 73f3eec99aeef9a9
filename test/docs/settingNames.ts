import { readConfig } from "../../src/service/config/config.ts";

/** The names of all settings that the configuration reads, as it reads them. */
export function settingNames(): ReadonlySet<string> {
  const names = new Set<string>();
  // With S3, whose settings are read for an s3:// CONTENT_URL alone.
  const env = new Proxy<Record<string, string | undefined>>(
    {},
    {
      get(_, name) {
        names.add(String(name));
        return name === "CONTENT_URL" ? "s3://bucket" : undefined;
      },
    },
  );
  try {
    readConfig(env);
  } catch {
    // S3 wants keys; all names have been read by then.
  }
  return names;
}
