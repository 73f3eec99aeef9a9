import { expect, test } from "bun:test";
import { unmatchedFeedback } from "../../src/service/logLines/unmatchedFeedback.ts";

test("reports that match no message are counted by source, and logged once a day", () => {
  const lines: object[] = [];
  let endWindow = () => {};
  const logger = { warn: (fields: object) => void lines.push(fields) };
  const { counts, tell } = unmatchedFeedback(logger, (_delayMs, act) => {
    endWindow = act;
  });
  for (const source of ["postmark", "postmark", "ses"] as const) tell(source);
  expect(Object.fromEntries(counts)).toEqual({ postmark: 2, ses: 1 });
  expect(lines).toEqual([{ source: "postmark" }]);
  endWindow();
  tell("ses");
  expect(lines).toEqual([{ source: "postmark" }, { omitted: 2 }, { source: "ses" }]);
});
