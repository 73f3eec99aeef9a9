import { expect, test } from "bun:test";
import { repeatedMember } from "../../../src/http/body/repeatedMember.ts";

test.each([
  [`{"a":1,"a":2}`, "/a"],
  [String.raw`{"a":1, "\u0061" : 2}`, "/a"],
  [`{"":1,"":2}`, "/"],
  [`{"a":[1,[{"x":",","x":1}]]}`, "/a/1/0/x"],
  [`[{"a":1},{"b":{"c":{},"c":[]}}]`, "/1/b/c"],
  [String.raw`{"a/b\"":{"__proto__":1,"__proto__":2}}`, '/a~1b"/__proto__'],
  [`{"long":"${"x".repeat(500_000)}","long":1}`, "/long"],
  [`{"a":{"a":["a","a"]},"b":"a","c":[{"a":1},{"a":1}]}`, null],
  [String.raw`{"a":"\",\"a\":\"","b":"}{\"a\":1"}`, null],
  [`"a"`, null],
])("a member that an object has twice is found: %#", (json, pointer) => {
  expect(repeatedMember(json)).toBe(pointer);
});
