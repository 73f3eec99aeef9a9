import { afterEach, beforeEach, expect, test } from "bun:test";
import { liquidEngine } from "../../../src/adapters/liquidjs/liquidEngine.ts";
import { createDependencies } from "../../../src/commands/createDependencies.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import {
  draftTemplateVersion,
  newTemplate,
  publishTemplateVersion,
} from "../../../src/commands/template/manageTemplates.ts";
import { renderForSend } from "../../../src/commands/template/renderForSend.ts";
import type { StepOwner } from "../../../src/commands/template/templateScheduler.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";

const SENDS = 200;

let world: DeliveryWorld;
let deps: Dependencies;
let templateId: string;
let compilations: number;
beforeEach(async () => {
  world = await deliveryWorld();
  compilations = 0;
  const engine = liquidEngine();
  const templateEngine: typeof engine = {
    compile(source, kind) {
      compilations += 1;
      return engine.compile(source, kind);
    },
  };
  deps = createDependencies({ ...world.deps, templateEngine });
  const { workspaceId } = world;
  const context = { at: world.clock.now(), correlationId: "t", actor: "t", workspaceId };
  ({ templateId } = await newTemplate(deps, { name: "welcome" }, async () => 0, context));
  const draft = { subject: "Hello", html: "<p>{{ name }}</p>", text: null, variables: [], bytes: 1 };
  const location = { workspaceId, templateId };
  const { versionId } = await draftTemplateVersion(deps, location, draft, context);
  await publishTemplateVersion(deps, location, versionId, context);
});
afterEach(() => world.close());

function render(isAbandoned?: StepOwner["isAbandoned"]) {
  const owner = { workspaceId: world.workspaceId, ...(isAbandoned && { isAbandoned }) };
  return renderForSend(deps, { owner, template: { id: templateId, versionId: null }, variables: {} });
}

/** The template has two parts. */
const ONCE = 2;

test("a version that many sends need at once is read and compiled once", async () => {
  const reads = world.store.calls.read;
  const outcomes = await Promise.all(Array.from({ length: SENDS }, () => render()));
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["rendered"]));
  expect(compilations).toBe(ONCE);
  expect(world.store.calls.read - reads).toBeLessThanOrEqual(2);
  await render();
  expect(compilations).toBe(ONCE);
});

test("a send whose request has ended takes it from no other that waits for the same version", async () => {
  // Enough work before it that compiling has to wait for its turn.
  const busy = Array.from({ length: 3 }, () =>
    deps.templateScheduler.run({ workspaceId: "other" }, () => world.clock.advance(10)),
  );
  const [ended, waiting] = [render(() => true), render()];
  const outcomes = await Promise.allSettled([ended, waiting, ...busy]);
  expect(outcomes[1]).toMatchObject({ status: "fulfilled", value: { kind: "rendered" } });
});

test("a version that could not be read is read again for the next send", async () => {
  await deps.templates.get(templateId);
  let failures = 1;
  world.store.beforeRead = () => {
    if (failures-- > 0) throw new Error("no answer");
  };
  const failed = await Promise.allSettled([render(), render()]);
  expect(failed.map(({ status }) => status)).toContain("rejected");
  expect((await render()).kind).toBe("rendered");
  expect(compilations).toBe(ONCE);
});
