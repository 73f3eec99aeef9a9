import { expect, test } from "bun:test";
import { StoreError } from "../../src/ports/eventStore.ts";
import { troubleLog } from "../../src/service/workerErrorLog.ts";

interface Line {
  readonly text: string;
  readonly omitted?: number;
  readonly emailId?: string;
  readonly reason?: string;
}

function world() {
  const lines: Line[] = [];
  let endWindow = () => {};
  const trouble = troubleLog({
    logger: { warn: (fields: object, text?: string) => void lines.push({ ...fields, text: text ?? "" }) },
    text: "delivery was interrupted",
    idField: "emailId",
    after: (_delayMs, act) => {
      endWindow = act;
    },
  });
  return { lines, trouble, endWindow: () => endWindow() };
}

test("the trouble of a worker is logged with its item, if there is one", () => {
  const { lines, trouble } = world();
  trouble(new TypeError("no answer"), "4711");
  trouble(new TypeError("no answer"), "");
  const line = { text: "delivery was interrupted", reason: "TypeError: no answer" };
  expect(lines).toEqual([{ ...line, emailId: "4711" }, line]);
});

test("trouble that does not end is logged up to a rate; then it is counted in one line, and it begins anew", () => {
  const { lines, trouble, endWindow } = world();
  const meet = (times: number) => {
    for (let count = 0; count < times; count += 1) trouble(new Error("the store is away"));
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

test("trouble of the store hides no other fault", () => {
  const { lines, trouble } = world();
  for (let count = 0; count < 30; count += 1) trouble(new StoreError("unavailable", "no answer"));
  trouble(new TypeError("a fault of one message"), "4711");
  expect(lines).toHaveLength(11);
  expect(lines.at(-1)).toMatchObject({ emailId: "4711", reason: "TypeError: a fault of one message" });
});
