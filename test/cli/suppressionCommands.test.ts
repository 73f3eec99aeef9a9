import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { importedAddresses } from "../../src/cli/suppression/importedAddresses.ts";
import type { CommandCallResult } from "../support/process/commandProcess.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { runCalls } from "../support/process/runCalls.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS_MAX = 120_000;
/** With notes they are a megabyte. */
const ENTRIES = 2_000;

/** What a file's text is read as: addresses with their reasons. */
function reasons(text: string): Record<string, string> {
  const { addresses = [] } = importedAddresses(text) ?? {};
  return Object.fromEntries(addresses.map(({ address, reason }) => [address.sent, reason]));
}

/** What a file's text is read as: addresses with their notes. */
function read(text: string): Record<string, string | null> | null {
  const found = importedAddresses(text);
  return found && Object.fromEntries(found.addresses.map(({ address, note }) => [address.sent, note]));
}

describe("a file of addresses is read", () => {
  test.each<[string, string, Record<string, string | null>]>([
    [
      "one on each line",
      "ana@example.com\r\n\r\n bo@example.com \n",
      {
        "ana@example.com": null,
        "bo@example.com": null,
      },
    ],
    ["with a name above them", "\uFEFFE-Mail\nana@example.com", { "ana@example.com": null }],
    [
      "in our own columns, where the reason alone is no note",
      "address,reason,note,email_id\nana@example.com,manual,asked,\nbo@example.com,bounce,,1\n",
      { "ana@example.com": "asked", "bo@example.com": null },
    ],
    [
      "in our own JSON list, where the reason alone is no note",
      JSON.stringify({
        data: [
          { object: "suppression", address: "ana@example.com", reason: "manual", note: null },
          { object: "suppression", address: "bo@example.com", reason: "manual", note: "asked" },
          { object: "suppression", address: "cy@example.com", reason: "bounce", note: null },
        ],
        next_cursor: null,
      }),
      { "ana@example.com": null, "bo@example.com": "asked", "cy@example.com": null },
    ],
    [
      "in the dashboard's file, without the guards of formulas",
      "address,reason,note,email_id,created_at\n'+ana@example.com,manual,'=1;'+2,,\n''=bo@example.com,manual,'so',,\n",
      { "+ana@example.com": "=1;+2", "'=bo@example.com": "'so'" },
    ],
    [
      "in other columns, where an apostrophe belongs to the address",
      "address,reason,created_at\n'+ana@example.com,'=1,\n",
      { "'+ana@example.com": "'=1" },
    ],
    [
      "in a column, with the reason in another",
      'status,reason,email,created\n5.1.1,"550 5.1.1 said ""no"",\nand no more",ana@example.com,1700000000\n,,bo@example.com,\n',
      { "ana@example.com": '550 5.1.1 said "no",\nand no more', "bo@example.com": null },
    ],
    ["between semicolons", "Id;Email Address\n1;ana@example.com", { "ana@example.com": null }],
    [
      "in a list of a JSON object, by the names that Postmark gives",
      JSON.stringify({
        Suppressions: [
          { EmailAddress: "ana@example.com", SuppressionReason: "ManualSuppression", Origin: "Customer" },
          { EmailAddress: "bo@example.com" },
        ],
        NextToken: "x",
      }),
      { "ana@example.com": "ManualSuppression", "bo@example.com": null },
    ],
    ["in a JSON list", '["ana@example.com"]', { "ana@example.com": null }],
    [
      "as they are listed here",
      '[{"address":"ana@example.com","reason":"manual","note":"asked"}]',
      {
        "ana@example.com": "asked",
      },
    ],
    ["once in two spellings", "ana@example.com\nAna@EXAMPLE.com", { "ana@example.com": null }],
    ["when there are none", "email\n", {}],
  ])("%s", (_how, text, addresses) => {
    expect(read(text)).toEqual(addresses);
  });

  test.each<[string, string, Record<string, string>]>([
    [
      "our own",
      "address,reason,note\nana@example.com,bounce,gone\nbo@example.com,complaint,\ncy@example.com,manual,",
      { "ana@example.com": "bounce", "bo@example.com": "complaint", "cy@example.com": "manual" },
    ],
    [
      "Postmark's",
      "\uFEFFEmail address,Suppression reason,Origin\nana@example.com,HardBounce,Recipient\nbo@example.com,SpamComplaint,Recipient\ncy@example.com,ManualSuppression,Customer",
      { "ana@example.com": "bounce", "bo@example.com": "complaint", "cy@example.com": "manual" },
    ],
    [
      "Postmark's, in its bounces",
      '{"TotalCount":1,"Bounces":[{"Type":"HardBounce","Email":"ana@example.com","Inactive":true}]}',
      { "ana@example.com": "bounce" },
    ],
    [
      "Resend's, in its suppressions",
      '{"object":"list","data":[{"email":"ana@example.com","origin":"bounce"},{"email":"bo@example.com","origin":"complaint"},{"email":"cy@example.com","origin":"manual"}]}',
      { "ana@example.com": "bounce", "bo@example.com": "complaint", "cy@example.com": "manual" },
    ],
    [
      "Amazon's",
      '{"SuppressedDestinationSummaries":[{"EmailAddress":"ana@example.com","Reason":"BOUNCE"}]}',
      { "ana@example.com": "bounce" },
    ],
    [
      "SendGrid's, which names none of ours, in its",
      "email,reason\nana@example.com,550 5.1.1 no",
      { "ana@example.com": "manual" },
    ],
  ])("with reasons as in %s list", (_whose, text, expected) => {
    expect(reasons(text)).toEqual(expected);
  });

  test.each<[string, string, string]>([
    [
      "Resend's contacts as CSV",
      "id,email,first_name,last_name,unsubscribed,created_at\n1,ana@example.com,Ana,A,false,2024\n2,bo@example.com,Bo,B,true,2024\n3,,C,C,FALSE,2024",
      "unsubscribed=false",
    ],
    [
      "Resend's contacts as JSON",
      '{"object":"list","data":[{"email":"ana@example.com","unsubscribed":false},{"email":"bo@example.com","unsubscribed":true},{"email":"cy@example.com","unsubscribed":false}]}',
      "unsubscribed=false",
    ],
    [
      "Postmark's bounces",
      '{"TotalCount":3,"Bounces":[{"Type":"Transient","Email":"ana@example.com","Inactive":false},{"Type":"HardBounce","Email":"bo@example.com","Inactive":true},{"Type":"SoftBounce","Email":"cy@example.com","Inactive":false}]}',
      "Inactive=false",
    ],
  ])("without those that get mail, in %s", (_what, text, said) => {
    expect(importedAddresses(text)).toMatchObject({
      addresses: [{ address: { sent: "bo@example.com" } }],
      notSuppressed: new Map([[said, 2]]),
      invalid: 0,
    });
  });

  test("and it is not guessed where they are", () => {
    for (const text of ["Ana,ana@example.com\nBo,bo@example.com", '{"a":1}', "[not JSON"])
      expect(read(text)).toBeNull();
  });

  test("however long it is, with one quotation mark too many", () => {
    // Some megabytes in one field were more than a pattern can match.
    const lines = Array.from({ length: 200_000 }, (_, index) => `u${index}@example.com`);
    const text = ['"ana@example.com', ...lines].join("\n");
    expect(importedAddresses(text)).toMatchObject({
      addresses: { length: lines.length },
      faults: { length: 1 },
    });
    const note = "said no ".repeat(500_000);
    expect(Object.keys(read(`email,note\nana@example.com,"${note}"\n`) ?? {})).toEqual(["ana@example.com"]);
  });

  test("without those of our own lists that were erased", () => {
    for (const text of [
      "address,reason,note,email_id,created_at\n,bounce,,1,\nana@example.com,manual,,,\n",
      '[{"address":null,"reason":"bounce"},{"address":"ana@example.com"}]',
    ]) {
      expect(importedAddresses(text)).toMatchObject({
        addresses: [{ address: { sent: "ana@example.com" } }],
        erased: 1,
        invalid: 0,
      });
    }
    // In another file it may be that the address is in another column.
    expect(importedAddresses("email,reason\n,bounce\n")).toMatchObject({ erased: 0, invalid: 1 });
    expect(importedAddresses('[{"reason":"bounce"}]')).toMatchObject({ erased: 0, invalid: 1 });
  });

  test("with the place of each that is none", () => {
    expect(importedAddresses('name,email\n"A\nB",ana@example.com\nBo,bo\n,')).toMatchObject({
      addresses: [{ address: { sent: "ana@example.com" } }],
      faults: ["line 4 must be one bare address such as ana@example.com"],
    });
    // The faults of a file that is no list at all are counted, not kept.
    expect(importedAddresses("a\n".repeat(100_000))).toMatchObject({
      invalid: 100_000,
      faults: { length: 10 },
    });
    expect(importedAddresses('["ana@example.com",7]')?.faults).toEqual([
      "entry 2 must be one bare address such as ana@example.com",
    ]);
  });
});

describe("the commands", () => {
  const folder = temporaryFolder();
  let ends: readonly CommandCallResult[];

  beforeAll(async () => {
    await Bun.write(
      join(folder, "list.csv"),
      "email,reason\nBO@example.com,hard bounce\nana@example.com,\nnobody,\n",
    );
    const utf16 = Buffer.from("\uFEFFemail\r\nbo@example.com\r\n", "utf16le");
    await Bun.write(join(folder, "utf16.txt"), utf16);
    await Bun.write(
      join(folder, "own.csv"),
      "address,reason,note,email_id,created_at\r\n'+ana@example.com,manual,,,2026-11-24T02:00:00.000Z\r\n,bounce,,,2026-11-24T01:00:00.000Z\r\n",
    );
    await Bun.write(
      join(folder, "contacts.csv"),
      "id,email,unsubscribed\n1,healthy@example.com,false\n2,left@example.com,true\n",
    );
    await Bun.write(join(folder, "columns.csv"), "Bo,bo@example.com\n");
    const call = (...words: readonly string[]) => ({
      words,
      cwd: folder,
      env: { DATA_DIR: join(folder, "data"), DISK_FREE_BYTES_MIN: "0" },
    });
    ends = await runCalls([
      call("workspace", "create", "Acme"),
      call("suppression", "add", "ana@example.com", "--note", "asked us"),
      call("suppression", "import", "list.csv"),
      call("suppression", "list", "--json"),
      call("suppression", "import", "list.csv", "--skip-invalid", "--note", "moved"),
      call("suppression", "list"),
      call("suppression", "import", "list.csv", "--skip-invalid", "--json"),
      call("suppression", "remove", "Ana@example.com"),
      call("suppression", "remove", "ana@example.com"),
      call("suppression", "list", "--json"),
      call("suppression", "import", "columns.csv"),
      call("suppression", "import", "none.csv"),
      call("suppression", "add", "nobody"),
      call("suppression", "import", "utf16.txt"),
      call("suppression", "import", "list.csv", "--skip-invalid", "--dry-run"),
      call("suppression", "import", "list.csv", "--skip-invalid", "--dry-run", "--json"),
      call("suppression", "import", "list.csv", "--dry-run"),
      call("suppression", "list", "--json"),
      call("suppression", "add", "+ana@example.com"),
      call("suppression", "import", "own.csv"),
      call("suppression", "remove", "+ana@example.com"),
      call("suppression", "import", "contacts.csv"),
      call("suppression", "remove", "healthy@example.com"),
      call("suppression", "remove", "left@example.com"),
    ]);
  }, TEST_MS_MAX);

  test("a file with an entry that is no address imports nothing, and says where it is", () => {
    expect(ends[2]).toMatchObject({ status: 1, out: "" });
    expect(ends[2]?.err).toContain("  line 4 must be one bare address");
    expect(ends[2]?.err).toContain("--skip-invalid");
    expect(JSON.parse(ends[3]?.out ?? "")).toMatchObject([{ address: "ana@example.com", note: "asked us" }]);
  });

  test("an import adds who is not suppressed yet, and can be made again", () => {
    expect(ends[4]).toMatchObject({
      status: 0,
      out: "1 address added, 1 already suppressed\n1 entry without an address skipped\n",
    });
    const lines = (ends[5]?.out ?? "").trimEnd().split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/Z {2}manual {5}ana@example\.com {2}"asked us"$/),
      expect.stringMatching(/Z {2}bounce {5}BO@example\.com {2}"moved"$/),
    ]);
    expect(JSON.parse(ends[6]?.out ?? "")).toEqual({ added: 0, already_suppressed: 2, skipped: 1 });
  });

  test("a removal applies to every spelling, and differs from the removal of an unknown address", () => {
    expect(ends[7]).toMatchObject({ status: 0, out: "removed: new mail to it is delivered\n" });
    expect(ends[8]).toMatchObject({ status: 1, out: "" });
    expect(JSON.parse(ends[9]?.out ?? "")).toMatchObject([{ address: "BO@example.com" }]);
  });

  test("a list that a spreadsheet wrote as UTF-16 is read", () => {
    expect(ends[13]).toMatchObject({ status: 0, out: "0 addresses added, 1 already suppressed\n" });
  });

  test("the dashboard's own file adds nobody who is suppressed, and skips whose address was erased", () => {
    expect(ends[19]).toMatchObject({
      status: 0,
      out: "0 addresses added, 1 already suppressed\n1 entry without an address skipped\n",
    });
  });

  test("a list of all contacts adds those who left, and says why it skips the others", () => {
    expect(ends[21]).toMatchObject({
      status: 0,
      out: "1 address added, 0 already suppressed\n1 entry with unsubscribed=false skipped\n",
    });
    expect([ends[22]?.status, ends[23]?.status]).toEqual([1, 0]);
  });

  test("a dry run says what an import would do, and does nothing", () => {
    expect(ends[14]).toMatchObject({
      status: 0,
      out: "nothing was imported; without --dry-run:\n1 address added, 1 already suppressed\n1 entry without an address skipped\n",
    });
    const told = { dry_run: true, added: 1, already_suppressed: 1, skipped: 1 };
    expect(JSON.parse(ends[15]?.out ?? "")).toEqual(told);
    expect(ends[16]).toMatchObject({ status: 1, err: expect.stringContaining("line 4 must be one bare") });
    expect(JSON.parse(ends[17]?.out ?? "")).toMatchObject([{ address: "BO@example.com" }]);
  });

  test("what cannot be read is refused with what to do", () => {
    expect(ends[10]).toMatchObject({ status: 1, err: expect.stringContaining("a column email") });
    expect(ends[11]).toMatchObject({ status: 1, err: "postledger: none.csv cannot be read (ENOENT)\n" });
    expect(ends[12]).toMatchObject({ status: 2, err: expect.stringContaining("must be one bare address") });
  });

  test("one installation's list is taken by another's standard input, and is whole however long it is", async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: join(folder, "data"),
      DISK_FREE_BYTES_MIN: "0",
    };
    const note = "n".repeat(500);
    const entries = Array.from({ length: ENTRIES }, (_, index) => ({
      address: `u${index}@example.com`,
      note,
    }));
    const call = [...COMMAND_LINE, "suppression", "import", "-", "--json"];
    const imported = Bun.spawn(call, { cwd: folder, env, stdin: new Blob([JSON.stringify(entries)]) });
    expect(JSON.parse(await new Response(imported.stdout).text())).toEqual({
      added: ENTRIES,
      already_suppressed: 0,
      skipped: 0,
    });
    // A pipe holds less than this: what it had not taken when the command was done was cut off.
    const { exitCode, out } = await runProcess([...COMMAND_LINE, "suppression", "list"], {
      cwd: folder,
      env,
    });
    expect({ exitCode, lines: out.trimEnd().split("\n").length }).toEqual({
      exitCode: 0,
      lines: ENTRIES + 1,
    });
  });

  test("standard input that does not end is refused, and not kept in memory", async () => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: join(folder, "data") };
    const words = [...COMMAND_LINE, "suppression", "import", "-"].map((word) => `'${word}'`).join(" ");
    const { exitCode, err } = await runProcess(["sh", "-c", `yes ana@example.com | ${words}`], {
      cwd: folder,
      env,
    });
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: "postledger: standard input has more than 67 MB: split it\n",
    });
  });

  test("a list that finds no room is no success", async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: join(folder, "data"),
      DISK_FREE_BYTES_MIN: "0",
    };
    const words = [...COMMAND_LINE, "suppression", "list"].map((word) => `'${word}'`).join(" ");
    const { exitCode, err } = await runProcess(["sh", "-c", `${words} > /dev/full`], { cwd: folder, env });
    expect(exitCode).toBe(1);
    expect(err).toStartWith("postledger: standard output could not be written: ");
  });
});
