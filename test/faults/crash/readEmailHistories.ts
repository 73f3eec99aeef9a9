import { type EmailEvent, emailCodec } from "../../../src/domain/email/events.ts";
import { type EmailState, emailDecider } from "../../../src/domain/email/state.ts";
import { epochMs } from "../../../src/kernel/time.ts";
import { LOG_START } from "../../../src/ports/eventStore.ts";
import { openStore } from "../../../src/service/adapters/openStore.ts";
import { readConfig } from "../../../src/service/config/config.ts";

interface LoggedEvent {
  readonly event: EmailEvent;
  readonly at: number;
}

/** One message, as recorded in the log. */
export interface EmailHistory {
  readonly events: LoggedEvent[];
  state: EmailState;
}

/** Every message by id, read from the start of the log that `env` names, without the service. */
export async function readEmailHistories(
  env: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, EmailHistory>> {
  const store = await openStore(readConfig(env));
  const histories = new Map<string, EmailHistory>();
  try {
    for await (const { events } of store.readAll(LOG_START, { types: emailCodec.types })) {
      for (const recorded of events) {
        const id = recorded.stream.slice("email-".length);
        const history: EmailHistory = histories.get(id) ?? { events: [], state: emailDecider.initialState };
        const event = emailCodec.decode(recorded);
        history.events.push({ event, at: epochMs(String(recorded.metadata.at)) });
        history.state = emailDecider.evolve(history.state, event);
        histories.set(id, history);
      }
    }
  } finally {
    await store.close();
  }
  return histories;
}
