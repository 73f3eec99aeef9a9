import { instanceCodec } from "../src/domain/instance/events.ts";
import { UnreadableEventError } from "../src/kernel/event/eventCodec.ts";
import { LOG_FORMAT, LOG_FORMAT_RAISED } from "../src/kernel/event/logFormat.ts";
import type { ProjectedEvent } from "../src/ports/readDatabase.ts";
import type { Projection } from "./projection.ts";

function requireReadable(event: ProjectedEvent, reads: number): void {
  const { type, data } = instanceCodec.decode(event);
  if (type !== LOG_FORMAT_RAISED || data.format <= reads) return;
  throw new UnreadableEventError(
    event,
    `events of a newer version of this program follow (format ${data.format}, this one reads ${reads}): upgrade`,
  );
}

/**
 * Stops the projection where the log continues in a newer format than this program reads. It sees only the event types
 * it asks for, so it would silently skip types that it does not know, and its rows would be wrong.
 */
export function stopAtNewerFormat<Name extends string>(
  projection: Projection<Name>,
  reads = LOG_FORMAT.reads,
): Projection<Name> {
  return {
    ...projection,
    events: [...projection.events, LOG_FORMAT_RAISED],
    apply(event, db) {
      if (event.type === LOG_FORMAT_RAISED) requireReadable(event, reads);
      else projection.apply(event, db);
    },
  };
}
