import { expect, test } from "bun:test";
import { aggregateCache } from "../../../src/commands/aggregateCache.ts";
import { templateAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { deleteTemplate } from "../../../src/commands/template/deleteTemplate.ts";
import { createTemplate } from "../../../src/domain/template/decisions.ts";
import { templateCodec, templateStream } from "../../../src/domain/template/events.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { watchedStore } from "../../reactors/email/deliveryFixtures.ts";

const AT = "2030-01-01T00:00:00.000Z";
const CONTEXT = { at: Date.parse(AT), correlationId: "test", actor: "test", workspaceId: "w" };

test.each([true, false])(
  "a second deletion names every event before it once, truncated: %p",
  async (works) => {
    const store = watchedStore();
    const { truncateBefore } = store;
    store.truncateBefore = async (...call) => {
      if (!works) throw new StoreError("unavailable", "not now");
      return truncateBefore(...call);
    };
    const templates = aggregateCache(store, templateAggregate);
    for (const name of ["One", "Two", "Three"]) {
      const data = { workspaceId: "w", name, alias: "welcome", at: AT };
      await templates.transact("t", (state) => createTemplate(state, data, 0), CONTEXT);
      expect(await deleteTemplate({ store, templates }, "t", CONTEXT)).toBe("deleted");
    }
    const last = (await store.read(templateStream("t"), 0, 10)).at(-1);
    const event = last && templateCodec.decode(last);
    if (event?.type !== "TemplateDeleted") throw new Error("it was not deleted");
    expect(event.data.erased.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
  },
);
