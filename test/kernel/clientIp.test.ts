import { describe, expect, test } from "bun:test";
import {
  type AddressRange,
  addressGroup,
  clientAddress,
  isClientIn,
  parseAddressRange,
} from "../../src/kernel/network/clientIp.ts";

const ranges = (...texts: string[]) =>
  texts.map((text) => parseAddressRange(text)).filter((range): range is AddressRange => range !== null);

describe("a range of addresses", () => {
  test.each(["10.0.0.0/8", "10.1.2.3", "fd00::/8", "::1", "0.0.0.0/0"])("can be %s", (text) => {
    expect(parseAddressRange(text)).not.toBeNull();
  });

  test.each(["", "10", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "0x0a.1", "proxy.example", "10.0.0.0/8/8"])(
    "cannot be %p",
    (text) => {
      expect(parseAddressRange(text)).toBeNull();
    },
  );

  test.each(["010.0.0.1", "10.0.0.01", "010.0.0.0/8"])("cannot be %s, which some read in octal", (text) => {
    expect(parseAddressRange(text)).toBeNull();
  });

  test.each(["::ffff:10.0.0.0/104", "::ffff:10.1.2.3", "::ffff:a01:203/128"])(
    "of IPv4-mapped addresses holds IPv4 clients: %s",
    (text) => {
      expect(isClientIn("10.1.2.3", ranges(text))).toBe(true);
      expect(isClientIn("::ffff:10.1.2.3", ranges(text))).toBe(true);
      expect(isClientIn("11.1.2.3", ranges(text))).toBe(false);
    },
  );
});

describe("the address of a client", () => {
  const trusted = ranges("10.0.0.0/8", "fd00::/8");

  test.each([
    ["203.0.113.9", null, "203.0.113.9"],
    ["::ffff:203.0.113.9", null, "203.0.113.9"],
    // No trusted proxy says so.
    ["203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["fd00::1", "2001:db8::1", "2001:db8::1"],
    // The first untrusted hop wrote everything to its left.
    ["10.0.0.1", "192.0.2.66, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
    ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["10.0.0.1", "unknown", "10.0.0.1"],
    ["10.0.0.1", "198.51.100.1, nonsense, 10.0.0.2", "10.0.0.2"],
    ["10.0.0.1", "0x7f.1", "10.0.0.1"],
    ["10.0.0.1", "010.0.0.7", "10.0.0.1"],
    ["10.0.0.1", "", "10.0.0.1"],
  ])("at %s with X-Forwarded-For %p is %s", (peer, forwardedFor, address) => {
    expect(clientAddress(peer, forwardedFor, trusted)).toBe(address);
  });

  test("is the other end's own where no proxy is trusted", () => {
    expect(clientAddress("10.0.0.1", "198.51.100.1", [])).toBe("10.0.0.1");
  });
});

describe("the group of an address", () => {
  test("is an IPv4 address by itself", () => {
    expect(addressGroup("198.51.100.1")).toBe("198.51.100.1");
  });

  test("is the /64 of an IPv6 address", () => {
    expect(addressGroup("2001:db8:1:2:3:4:5:6")).toBe(addressGroup("2001:db8:1:2::1"));
    expect(addressGroup("2001:db8:1:2::1")).not.toBe(addressGroup("2001:db8:1:3::1"));
  });
});
