import { expect, test } from "bun:test";
import fc from "fast-check";
import { unwrapBatvAndSrs } from "../../src/kernel/mail/unwrapBatvAndSrs.ts";

const OURS = "abc234@bounce.shop.example";

test("an address is found inside BATV and SRS, in each other too", () => {
  for (const wrapped of [
    OURS,
    "prvs=1234abcdef=abc234@bounce.shop.example",
    "PRVS=1234ABCDEF=abc234@bounce.shop.example",
    "btv1==2016e0a1b2c==abc234@bounce.shop.example",
    "SRS0=h/+a=X1=bounce.shop.example=abc234@relay.example",
    "SRS0+haha=X1=bounce.shop.example=abc234@relay.example",
    "SRS1=hihi=relay.example==haha=X1=bounce.shop.example=abc234@second.example",
    "SRS1-hihi=relay.example=+haha=X1=bounce.shop.example=abc234@second.example",
    "SRS0=haha=X1=bounce.shop.example=prvs=1234abcdef=abc234@relay.example",
    "prvs=1234abcdef=SRS0=haha=X1=bounce.shop.example=abc234@relay.example",
  ])
    expect(unwrapBatvAndSrs(wrapped)).toBe(OURS);
});

test("an address that is not wrapped stays as it is, whatever it is", () => {
  for (const address of ["", "@", "srs0", "srs0=a=b@c.example", "prvs=@c.example", "ana+prvs=1=b@c.example"])
    expect(unwrapBatvAndSrs(address)).toBe(address);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("=", "@", "a", "prvs=", "srs0=", "srs1", "+"), maxLength: 200 }),
      (address) => {
        expect(address.length).toBeGreaterThanOrEqual(unwrapBatvAndSrs(address).length);
      },
    ),
  );
});
