import { expect, test } from "bun:test";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/kernel/time.ts";
import { clockChecks } from "../../src/service/status/checks/clockChecks.ts";
import { clockWatch } from "../../src/service/status/clockWatch.ts";
import { until } from "../support/until.ts";

const NOON = Date.parse("2030-01-01T12:00:00Z");

test("each jump of the clock has one line, ahead or back, and doctor warns while events may lie in the future", async () => {
  let [time, monotonic, looks] = [NOON, 0, 0];
  const clock = {
    now: () => time,
    monotonicMs() {
      looks += 1;
      return monotonic;
    },
  };
  const lines: { readonly jumpSeconds: number; readonly text: string }[] = [];
  const warn = ({ jumpSeconds }: { jumpSeconds: number }, text: string) =>
    void lines.push({ jumpSeconds, text });
  const watch = clockWatch({ warn } as never, clock, 1);
  const doctor = () => clockChecks({ latest: watch.latestSeen(), jumpAhead: watch.jumpAhead() }, time);
  const lookAgain = async () => {
    const before = looks;
    await until(() => looks > before + 1, "the next looks");
  };
  const jump = (byMs: number) => {
    time += byMs;
    return lookAgain();
  };
  watch.start();
  try {
    // Time that passes, and small corrections, are no jumps.
    monotonic += HOUR_MS;
    await jump(HOUR_MS);
    for (let nth = 0; nth < 3; nth += 1) await jump(MINUTE_MS / 2);
    expect(lines).toEqual([]);
    await jump(2 * HOUR_MS);
    expect(lines.splice(0)).toEqual([{ jumpSeconds: 7_200, text: expect.stringContaining("jumped ahead") }]);
    const jumped = {
      name: "clock",
      detail: expect.stringContaining("jumped ahead by 2 h to 2030-01-01T15:01"),
    };
    expect(doctor()).toMatchObject([jumped]);
    await jump(-2 * HOUR_MS);
    expect(lines).toEqual([{ jumpSeconds: -7_200, text: expect.stringContaining("jumped back") }]);
    expect(doctor()).toEqual([
      {
        name: "clock",
        status: "warning",
        detail: expect.stringContaining("up to 2030-01-01T15:01:30.000Z, 2 h from now"),
        action: expect.stringContaining("When the clock is wrong"),
      },
    ]);
    monotonic += 2 * HOUR_MS;
    await jump(2 * HOUR_MS);
    expect(doctor()).toEqual([]);
    expect(lines).toHaveLength(1);
    await jump(2 * HOUR_MS);
    await jump(-0.5 * HOUR_MS);
    expect(doctor()).toMatchObject([{ detail: expect.stringContaining("jumped ahead by 90 min") }]);
    monotonic += DAY_MS;
    await jump(DAY_MS);
    expect(doctor()).toEqual([]);
  } finally {
    await watch.stop();
  }
});
