import type { Projection } from "../../../projections/projection.ts";
import { type Applier, createApplier } from "../applyEvents.ts";
import type { GenerationEntry } from "../generations/generationCatalog.ts";
import type { OpenGeneration } from "../generations/generationFiles.ts";

/** A generation that the follower keeps up to date. */
export interface FollowedGeneration {
  readonly entry: GenerationEntry;
  readonly applier: Applier;
  /** Whether readers use this one; otherwise they will be switched to it. */
  isCurrent: boolean;
}

/** An open generation, continued from its checkpoint. */
export function followedGeneration(
  projection: Projection,
  { entry, db, checkpoint }: OpenGeneration,
  isCurrent: boolean,
): FollowedGeneration {
  return { entry, applier: createApplier(projection, db, checkpoint), isCurrent };
}
