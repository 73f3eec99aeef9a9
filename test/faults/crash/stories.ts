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

/** One message as the log tells it. */
export interface Story {
  readonly events: LoggedEvent[];
  state: EmailState;
}

/** Every message of the log that the service's settings name, by id: read from its start, past the service. */
export async function readStories(
  env: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, Story>> {
  const store = await openStore(readConfig(env));
  const stories = new Map<string, Story>();
  try {
    for await (const { events } of store.readAll(LOG_START, { types: emailCodec.types })) {
      for (const recorded of events) {
        const id = recorded.stream.slice("email-".length);
        const story: Story = stories.get(id) ?? { events: [], state: emailDecider.initialState };
        const event = emailCodec.decode(recorded);
        story.events.push({ event, at: epochMs(String(recorded.metadata.at)) });
        story.state = emailDecider.evolve(story.state, event);
        stories.set(id, story);
      }
    }
  } finally {
    await store.close();
  }
  return stories;
}
