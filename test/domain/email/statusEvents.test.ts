import { expect, test } from "bun:test";
import { EMAIL_STATUS_EVENTS, type EmailEvent, emailCodec } from "../../../src/domain/email/events.ts";
import { type EmailState, emailDecider } from "../../../src/domain/email/state.ts";
import { readCorpus, storedOf } from "../../events/goldenEvents.ts";

/** A golden event of each type, as of the first attempt if it is of one. */
const samples = new Map<string, EmailEvent>();
for (const golden of readCorpus().goldens.values()) {
  const [sample] = golden.samples;
  if (!emailCodec.types.includes(golden.type) || sample === undefined) continue;
  const { type, data } = emailCodec.decode(storedOf(golden, sample));
  samples.set(type, { type, data: "attempt" in data ? { ...data, attempt: 1 } : data } as EmailEvent);
}

function stateAfter(...types: readonly EmailEvent["type"][]): EmailState {
  return types
    .map((type) => samples.get(type) as EmailEvent)
    .reduce(emailDecider.evolve, emailDecider.initialState);
}

const STATES = [
  stateAfter(),
  stateAfter("EmailQueued"),
  stateAfter("EmailQueued", "EmailDeliveryStarted"),
  stateAfter("EmailQueued", "EmailDeliveryStarted", "EmailSent"),
];

test("the read model of messages gets every event that changes a message's status, and all of these do", () => {
  const changing = [...samples].filter(([, event]) =>
    STATES.some((state) => emailDecider.evolve(state, event)?.status !== state?.status),
  );
  expect(samples.size).toBe(emailCodec.types.length);
  expect(changing.map(([type]) => type).toSorted()).toEqual(EMAIL_STATUS_EVENTS.toSorted());
});
