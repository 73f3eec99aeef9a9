import { raiseLogFormat } from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { LOG_FORMAT, type LogFormat } from "../../kernel/event/logFormat.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";
import { InstanceMismatchError } from "./instanceMismatchError.ts";

/** Why this program cannot work on a log of this format; null if it can. */
export function formatTrouble(format: number, { reads }: LogFormat = LOG_FORMAT): string | null {
  if (format <= reads) return null;
  return `the log holds events of a newer version of this program (format ${format}, this one reads ${reads}): upgrade`;
}

/**
 * Call this before writing anything else. It refuses a log in a newer format than we read, and raises the recorded format
 * of an older log to ours. Throws {@link InstanceMismatchError}.
 */
export async function requireLogFormat(
  store: EventStore,
  format: number,
  context: CommandContext,
  own: LogFormat = LOG_FORMAT,
): Promise<void> {
  const trouble = formatTrouble(format, own);
  if (trouble !== null) throw new InstanceMismatchError(trouble);
  if (format >= own.writes) return;
  const aggregate = instanceAggregate;
  await transact(store, aggregate, (state) => raiseLogFormat(state, own.writes), context);
}
