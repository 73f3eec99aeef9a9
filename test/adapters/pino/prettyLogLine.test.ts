import { describe, expect, test } from "bun:test";
import { prettyLogLine } from "../../../src/adapters/pino/prettyLogLine.ts";

const TIME = new Date(2030, 0, 1, 9, 5, 7).getTime();

const line = (fields: object) => JSON.stringify({ level: 40, time: TIME, service: "postledger", ...fields });

describe("a log line on a terminal", () => {
  test("shows time, level, message and fields", () => {
    expect(prettyLogLine(line({ relay: "127.0.0.1:25", waiting: 3, msg: "the relay waits" }), false)).toBe(
      "09:05:07 WARN  the relay waits relay=127.0.0.1:25 waiting=3\n",
    );
  });

  test("stays one line, and shows no control character, whatever a field holds", () => {
    const output = prettyLogLine(
      line({ reason: 'a\n"b\u001b[2J', list: ["x", null], msg: "it failed" }),
      false,
    );
    expect(output).toBe('09:05:07 WARN  it failed reason="a\\n\\"b\\u001b[2J" list=["x",null]\n');
  });

  test("colours its level where colours are on", () => {
    expect(prettyLogLine(line({ msg: "hot" }), true)).toBe("09:05:07 \u001b[33mWARN \u001b[0m hot\n");
  });
});
