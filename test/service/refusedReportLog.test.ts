import { expect, test } from "bun:test";
import { refusedReportLog } from "../../src/service/logLines/refusedReportLog.ts";

test("why a provider's call is refused is logged once a minute for each provider", () => {
  const lines: object[] = [];
  const ends: (() => void)[] = [];
  const logger = { warn: (fields: object) => void lines.push(fields) };
  const tell = refusedReportLog(logger, (_delayMs, act) => void ends.push(act));
  for (const why of ["not signed", "clock", "not signed"]) tell("sendgrid", why);
  tell("mailgun", "not signed");
  const first = [
    { source: "sendgrid", why: "not signed" },
    { source: "mailgun", why: "not signed" },
  ];
  expect(lines).toEqual(first);
  for (const end of ends.splice(0)) end();
  tell("sendgrid", "clock");
  const omitted = { source: "sendgrid", omitted: 2 };
  expect(lines).toEqual([...first, omitted, { source: "sendgrid", why: "clock" }]);
});
