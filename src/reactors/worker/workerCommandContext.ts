import { workerActor } from "../../kernel/event/actor.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { newRequestId } from "../../kernel/ids.ts";
import type { Clock } from "../../ports/clock.ts";

/** A worker, which acts without a request. */
export interface ActingWorker {
  readonly clock: Clock;
  /** Names this worker in its events. */
  readonly worker: string;
}

/** The command context for what a worker does now, in a workspace or in none. Each gets a request id of its own. */
export function workerCommandContext(acting: ActingWorker): CommandContext;
export function workerCommandContext(acting: ActingWorker, workspaceId: string): WorkspaceCommandContext;
export function workerCommandContext({ clock, worker }: ActingWorker, workspaceId?: string): CommandContext {
  const context = { at: clock.now(), correlationId: newRequestId(), actor: workerActor(worker) };
  return workspaceId === undefined ? context : { ...context, workspaceId };
}
