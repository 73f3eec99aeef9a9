import { expect } from "bun:test";
import type { Decider, Decision, DomainEvent } from "../../src/kernel/event/decider.ts";
import { COMPRESS_ABOVE_BYTES, type Codec, encodeData } from "../../src/kernel/event/eventCodec.ts";

interface Noun<State, Event extends DomainEvent> {
  readonly decider: Decider<State, Event>;
  readonly codec: Codec<Event>;
}

/** An event as a store returns it: as JSON, compressed if it is large. */
export function throughStore<Event extends DomainEvent>(codec: Codec<Event>, { type, data }: Event): Event {
  const bytes = Buffer.byteLength(JSON.stringify(data));
  const stored = encodeData(data, bytes);
  const isCompressed = stored instanceof Uint8Array;
  if (isCompressed !== bytes > COMPRESS_ABOVE_BYTES) throw new Error("unexpected compression");
  return codec.decode({ type, data: isCompressed ? stored : JSON.parse(JSON.stringify(stored)) });
}

/** The state after these events, each as a store returns it. */
export function foldOf<State, Event extends DomainEvent>(noun: Noun<State, Event>, events: readonly Event[]) {
  return events
    .map((event) => throughStore(noun.codec, event))
    .reduce(noun.decider.evolve, noun.decider.initialState);
}

/** Given past events, when a decision, then its outcome and events. */
export function givenWhenThen<State, Event extends DomainEvent>(noun: Noun<State, Event>) {
  return function given(...past: readonly Event[]) {
    return {
      when<Outcome>(decide: (state: State) => Decision<Outcome, Event>) {
        const first = decide(foldOf(noun, past));
        return {
          // biome-ignore lint/suspicious/noThenProperty: the word goes with given and when, and nobody awaits it.
          then(outcome: NoInfer<Outcome>, ...events: readonly Event[]) {
            expect(first).toEqual({ outcome, events });
            return {
              /** The same decision again after its own events: it returns no events. */
              again(repeated: NoInfer<Outcome>) {
                const second = decide(foldOf(noun, [...past, ...first.events]));
                expect(second).toEqual({ outcome: repeated, events: [] });
              },
            };
          },
        };
      },
    };
  };
}
