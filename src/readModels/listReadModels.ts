import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import type { EventStore, Position } from "../ports/eventStore.ts";
import { type ReadDatabase, ReadDatabaseError, type ReadDatabases } from "../ports/readDatabase.ts";
import {
  type GenerationEntry,
  type GenerationStatus,
  hasCatalog,
  openCatalog,
  type Verification,
} from "./generations/generationCatalog.ts";
import { readMeta } from "./generations/generationMeta.ts";
import { missingFile } from "./generations/missingFile.ts";

interface ListOptions {
  readonly store: EventStore;
  readonly databases: ReadDatabases;
  /** `<DATA_DIR>/projections`. */
  readonly directory: string;
  readonly projections: readonly Projection[];
}

/** One generation of a projection, or a projection that has none. */
export interface ReadModelListing {
  readonly name: string;
  /** The version of its rows; this program's version if there are no rows. */
  readonly version: number;
  /** `<name>.<version>.<number>.db`. */
  readonly number: number | null;
  readonly file: string | null;
  /** `absent`: nothing was built yet. `failed`: current, but stopped or without its file, as `failure` says. */
  readonly status: GenerationStatus | "failed" | "absent";
  /** Null while another process has the file locked, or if it can't be read. */
  readonly checkpoint: Position | null;
  readonly isAtHead: boolean;
  /** Rows of all its tables. */
  readonly rows: number | null;
  readonly failure: string | null;
}

function countRows(db: ReadDatabase, projection: Projection): number {
  return projection.tables.reduce(
    (sum, { name }) => sum + Number(db.get(`SELECT count(*) AS rows FROM ${name}`)?.rows),
    0,
  );
}

function listingOf(
  entry: GenerationEntry,
  projection: Projection,
  options: ListOptions,
  head: Position,
): ReadModelListing {
  const { name, version, number, file } = entry;
  const failure =
    entry.failure ?? (entry.status === "current" ? missingFile(options.directory, entry) : null);
  const status = entry.status === "current" && failure !== null ? "failed" : entry.status;
  const listing = { name, version, number, file, status, failure } as const;
  // Its builder has the file locked, and nobody needs its figures before it is ready.
  if (status === "building") return { ...listing, checkpoint: null, isAtHead: false, rows: null };
  try {
    using db = options.databases.open(join(options.directory, file), "read");
    const { checkpoint } = readMeta(db);
    const rows = version === projection.version ? countRows(db, projection) : null;
    return { ...listing, checkpoint, isAtHead: checkpoint >= head, rows };
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    return { ...listing, checkpoint: null, isAtHead: false, rows: null };
  }
}

function absent({ name, version }: Projection): ReadModelListing {
  const nothing = { number: null, file: null, checkpoint: null, rows: null, failure: null };
  return { name, version, status: "absent", isAtHead: false, ...nothing };
}

/** The status of a directory's read models. Works beside a running service and changes nothing. */
export async function listReadModels(options: ListOptions): Promise<readonly ReadModelListing[]> {
  if (!hasCatalog(options.directory)) return options.projections.map(absent);
  const head = await options.store.head();
  using catalog = openCatalog(options.databases, options.directory);
  const entries = catalog.generations();
  return options.projections.flatMap((projection) => {
    const own = entries.filter(({ name }) => name === projection.name);
    const listings = own.map((entry) => listingOf(entry, projection, options, head));
    return own.some(({ status }) => status === "current") ? listings : [absent(projection), ...listings];
  });
}

/**
 * The last verification of each read model, except those not verified since they were built. Empty while the catalog is
 * damaged, because nothing in it can be trusted then.
 */
export function lastVerifications(databases: ReadDatabases, directory: string): readonly Verification[] {
  if (!hasCatalog(directory)) return [];
  try {
    using catalog = openCatalog(databases, directory);
    return catalog.verifications();
  } catch (error) {
    if (!(error instanceof ReadDatabaseError) || error.failure !== "damaged") throw error;
    return [];
  }
}
