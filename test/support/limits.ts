import { workspaceAggregate } from "../../src/commands/aggregateDefinitions.ts";
import type { Dependencies } from "../../src/commands/dependencies.ts";
import { transact } from "../../src/commands/transact.ts";
import { changeLimits } from "../../src/domain/workspace/decisions.ts";
import type { WorkspaceLimits } from "../../src/domain/workspace/workspaceLimits.ts";

/** Sets limits of one workspace, as the operator would on the command line. */
export async function setLimits(
  { store }: Pick<Dependencies, "store">,
  workspaceId: string,
  changes: Partial<WorkspaceLimits>,
): Promise<void> {
  const aggregate = workspaceAggregate.of(workspaceId);
  const context = { at: Date.now(), correlationId: "test", actor: "test", workspaceId };
  const outcome = await transact(store, aggregate, (state) => changeLimits(state, changes), context);
  if (outcome !== "changed") throw new Error(`no such workspace: ${workspaceId}`);
}
