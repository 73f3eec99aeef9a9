import { expect, test } from "bun:test";
import { StoreError } from "../../src/ports/eventStore.ts";
import { workerErrorLog } from "../../src/service/logLines/workerErrorLog.ts";

interface Line {
  readonly text: string;
  readonly omitted?: number;
  readonly emailId?: string;
  readonly reason?: string;
}

function world() {
  const lines: Line[] = [];
  let endWindow = () => {};
  const log = workerErrorLog({
    logger: { warn: (fields: object, text?: string) => void lines.push({ ...fields, text: text ?? "" }) },
    text: "delivery was interrupted",
    idField: "emailId",
    after: (_delayMs, act) => {
      endWindow = act;
    },
  });
  return { lines, log, endWindow: () => endWindow() };
}

test("an error of a worker is logged with its item, if there is one", () => {
  const { lines, log } = world();
  log(new TypeError("no answer"), "4711");
  log(new TypeError("no answer"), "");
  const line = { text: "delivery was interrupted", reason: "TypeError: no answer" };
  expect(lines).toEqual([{ ...line, emailId: "4711" }, line]);
});

test("errors without end are logged up to a rate; the rest are counted in one line, and then it begins anew", () => {
  const { lines, log, endWindow } = world();
  const meet = (times: number) => {
    for (let count = 0; count < times; count += 1) log(new Error("the store is away"));
  };
  meet(300);
  expect(lines).toHaveLength(10);
  endWindow();
  expect(lines).toHaveLength(11);
  expect(lines.at(-1)).toMatchObject({
    text: "delivery was interrupted: further lines were omitted",
    omitted: 290,
  });
  meet(1);
  expect(lines).toHaveLength(12);
});

test("errors of the store hide no other fault", () => {
  const { lines, log } = world();
  for (let count = 0; count < 30; count += 1) log(new StoreError("unavailable", "no answer"));
  log(new TypeError("a fault of one message"), "4711");
  expect(lines).toHaveLength(11);
  expect(lines.at(-1)).toMatchObject({ emailId: "4711", reason: "TypeError: a fault of one message" });
});
