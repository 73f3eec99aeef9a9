import { systemClock } from "../adapters/system/systemClock.ts";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import { newRequestId } from "../kernel/ids.ts";

/** The context of something the operator or the system does, rather than a caller. */
export function systemCommandContext(actor: string): CommandContext {
  return { at: systemClock.now(), correlationId: newRequestId(), actor };
}
