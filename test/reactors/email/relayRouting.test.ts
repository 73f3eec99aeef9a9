import { afterEach, beforeEach, expect, test } from "bun:test";
import { DAY_MS } from "../../../src/kernel/time.ts";
import { until } from "../../support/until.ts";
import { type DeliveryWorld, deliveryWorld, type ScriptedRelay, scriptedRelay } from "./deliveryFixtures.ts";

const SHOP = "shop@example.com";
const NEWS = "news@example.com";

let world: DeliveryWorld;
let news: ScriptedRelay;
beforeEach(async () => {
  world = await deliveryWorld();
  news = scriptedRelay();
});
afterEach(() => world.close());

const start = () => world.start({ others: [{ senders: new Set([NEWS]), relay: news }] });

function sendersAt(relay: ScriptedRelay): readonly string[] {
  return relay.sent.map(({ message }) => message.from);
}

test("mail that a clock has misdated goes over the relay for its sender", async () => {
  for (const from of [SHOP, NEWS]) await world.accept(`from-${from}`, { from });
  world.clock.setBack(DAY_MS);
  await start();
  await until(() => world.relay.sent.length + news.sent.length === 2, "both to be sent");
  expect(sendersAt(world.relay)).toEqual([SHOP]);
  expect(sendersAt(news)).toEqual([NEWS]);
});

test("a relay that gets no mail is asked for no session, and one that is down is left alone by other mail", async () => {
  news.refuse = () => "ECONNREFUSED";
  await start();
  for (let nth = 0; nth < 20; nth += 1) await world.accept(`shop-${nth}`, { from: SHOP });
  await until(() => world.relay.sent.length === 20, "all to be sent");
  expect(news.sessions).toBe(0);
  await world.accept("news", { from: NEWS });
  await until(() => news.sessions > 0, "the other relay to be asked");
  await world.accept("shop-last", { from: SHOP });
  await until(() => world.relay.sent.length === 21, "the last to be sent");
  expect(sendersAt(world.relay)).not.toContain(NEWS);
});
