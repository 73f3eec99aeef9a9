import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { SESSION_MS_MAX, SessionDeadlines } from "../../../src/adapters/smtpServer/sessionDeadlines.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test("a session ends when its client takes too long for one phase, however often it writes", () => {
  const ended: string[] = [];
  const deadlines = new SessionDeadlines((id) => ended.push(id));
  deadlines.enter("slow", "logIn");
  deadlines.enter("gone", "logIn");
  deadlines.leave("gone");
  deadlines.enter("known", "logIn");
  jest.advanceTimersByTime(SESSION_MS_MAX.logIn - 1);
  deadlines.enter("known", "envelope");
  expect(ended).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(ended).toEqual(["slow"]);
  jest.advanceTimersByTime(SESSION_MS_MAX.envelope);
  expect(ended).toEqual(["slow", "known"]);
});
