import { projections } from "../../../projections/index.ts";
import type { Projection } from "../../../projections/projection.ts";
import { type Invocation, type Operand, UsageError } from "../program/command.ts";

export function projectionsNamed({ args }: Invocation): readonly Projection[] {
  return args.length === 0 ? projections : [...new Set(args)].map(projectionNamed);
}

const NAMES = projections.map(({ name }) => name).join(", ");
export const PROJECTION_NAME: Operand = { name: "name", help: `which read model: ${NAMES}` };
export const PROJECTION_NAMES: Operand = {
  name: "name",
  help: `which ones: ${NAMES} (default: all)`,
  count: "many",
};

/** The read model with that name. Throws a usage error if there is none. */
export function projectionNamed(name: string): Projection {
  const found = projections.find((projection) => projection.name === name);
  if (found) return found;
  throw new UsageError(`there is no projection ${name}; there are ${NAMES}`);
}
