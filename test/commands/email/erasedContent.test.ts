import { expect, test } from "bun:test";
import { eraseEmail } from "../../../src/commands/erasure/eraseEmailContent.ts";
import { deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";

test("content that is erased before its delivery does not stay in memory for it", async () => {
  const world = await deliveryWorld();
  try {
    const { deps, workspaceId } = world;
    const [kept, erased] = [await world.accept("kept"), await world.accept("erased")];
    const context = { at: world.clock.now(), correlationId: "t", actor: "t", workspaceId };
    expect(await eraseEmail(deps, erased, { reason: "requested" }, context)).toBe("erased");
    expect(deps.recentEmails?.take(erased)).toBeNull();
    expect(deps.recentEmails?.take(kept)).not.toBeNull();
  } finally {
    await world.close();
  }
});
