import type { projections } from "./index.ts";

/** The name of one of the read models: whoever reads one may know their names, but not what they are made of. */
export type ReadModelName = (typeof projections)[number]["name"];
