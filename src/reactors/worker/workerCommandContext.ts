import type { CommandContext, WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { newRequestId } from "../../kernel/ids.ts";
import type { Clock } from "../../ports/clock.ts";

/** Who does something of its own accord. */
export interface ActingWorker {
  readonly clock: Clock;
  /** Names this worker in the events that it leads to. */
  readonly worker: string;
}

/** The command context of what a worker does now, in a workspace or in none; each is a request of its own. */
export function workerCommandContext(acting: ActingWorker): CommandContext;
export function workerCommandContext(acting: ActingWorker, workspaceId: string): WorkspaceCommandContext;
export function workerCommandContext({ clock, worker }: ActingWorker, workspaceId?: string): CommandContext {
  const context = { at: clock.now(), correlationId: newRequestId(), actor: workerActor(worker) };
  return workspaceId === undefined ? context : { ...context, workspaceId };
}

/** The actor of a worker's events. */
export function workerActor(worker: string): string {
  return `worker:${worker}`;
}
