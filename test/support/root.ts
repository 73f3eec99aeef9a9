import { join } from "node:path";

/** The root of the repository. */
export const ROOT = join(import.meta.dir, "../..");
