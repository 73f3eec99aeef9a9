import type { Projection } from "../../../projections/projection.ts";
import type { Position } from "../../ports/eventStore.ts";
import { type Applier, makeApplier } from "../applyEvents.ts";
import type { GenerationEntry } from "../generations/generationCatalog.ts";
import type { OpenGeneration } from "../generations/generationFiles.ts";

/** A generation that the follower brings forward. */
export interface FollowedGeneration {
  readonly entry: GenerationEntry;
  readonly applier: Applier;
  /** Readers have this one open; the others are yet to be switched to. */
  isCurrent: boolean;
}

/** An open generation, to be gone on with from its checkpoint. */
export function followedGeneration(
  projection: Projection,
  { entry, db, checkpoint }: OpenGeneration,
  isCurrent: boolean,
): FollowedGeneration {
  return { entry, applier: makeApplier(projection, db, checkpoint), isCurrent };
}

/** What the events `opened` and `switched` say of it. */
export function fileAt({ entry, applier }: FollowedGeneration): {
  readonly name: string;
  readonly file: string;
  readonly position: Position;
} {
  return { name: entry.name, file: entry.file, position: applier.checkpoint };
}
