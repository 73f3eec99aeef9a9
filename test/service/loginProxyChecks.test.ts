import { expect, test } from "bun:test";
import { parseAddressRange } from "../../src/kernel/network/clientIp.ts";
import { loginProxyChecks } from "../../src/service/status/checks/loginProxyChecks.ts";

function checksOf(range: string, secret: string | null) {
  const ranges = [parseAddressRange(range)].filter((parsed) => parsed !== null);
  return loginProxyChecks({ loginProxy: { header: "X-Forwarded-Email", ranges, secret } });
}

test.each(["127.0.0.1", "127.0.0.0/8", "::1"])("a login proxy at %s needs a secret", (range) => {
  expect(checksOf(range, null)).toMatchObject([
    { status: "warning", action: expect.stringContaining("SECRET") },
  ]);
  expect(checksOf(range, "3q2VtXb0mN4yKc7L")).toEqual([]);
});

test("there is nothing to say of one elsewhere, or of none", () => {
  expect(checksOf("10.0.0.7", null)).toEqual([]);
  expect(loginProxyChecks({ loginProxy: null })).toEqual([]);
});
