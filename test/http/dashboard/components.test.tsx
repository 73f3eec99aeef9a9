/** @jsxImportSource hono/jsx */
import { describe, expect, test } from "bun:test";
import { confirmationPage } from "../../../src/http/dashboard/components/confirmationPage.tsx";
import { CheckBox, Field, PostForm, Select, TextArea } from "../../../src/http/dashboard/components/form.tsx";
import { Copyable, Empty, Facts, Pager, RowTable } from "../../../src/http/dashboard/components/list.tsx";
import { Status } from "../../../src/http/dashboard/components/status.tsx";
import { Ago, Hour, lengthOfTime, Time } from "../../../src/http/dashboard/components/time.tsx";
import { fieldOf } from "../../../src/http/dashboard/frame/formBody.ts";

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>' onfocus='alert(1)`;

const CONTEXT = {
  path: HOSTILE,
  to: (path: string) => path,
  formToken: HOSTILE,
  workspaceId: HOSTILE,
  workspaceName: HOSTILE,
  mail: "live" as const,
  query: new URLSearchParams({ cursor: HOSTILE }),
};

const everyComponent = {
  PostForm: (
    <PostForm context={CONTEXT} action="/x">
      {HOSTILE}
    </PostForm>
  ),
  Field: (
    <Field name="a" label={HOSTILE} value={HOSTILE} hint={HOSTILE} fault={HOSTILE} placeholder={HOSTILE} />
  ),
  TextArea: <TextArea name="a" label={HOSTILE} value={`</textarea>${HOSTILE}`} fault={HOSTILE} />,
  Select: <Select name="a" label={HOSTILE} value="b" options={[{ value: HOSTILE, label: HOSTILE }]} />,
  CheckBox: <CheckBox name="a" value={HOSTILE} label={HOSTILE} />,
  Confirmation: (
    <>{confirmationPage(CONTEXT, { title: HOSTILE, above: [], verb: HOSTILE, text: HOSTILE }).body}</>
  ),
  RowTable: (
    <RowTable
      label={HOSTILE}
      columns={[{ title: HOSTILE, cell: (row: string) => row }]}
      rows={[HOSTILE]}
      idOf={(row) => row}
      linkOf={(row) => `/x?q=${row}`}
    />
  ),
  Pager: <Pager context={CONTEXT} path={`/${HOSTILE}`} nextCursor={HOSTILE} filter={{ q: HOSTILE }} />,
  Empty: <Empty title={HOSTILE}>{HOSTILE}</Empty>,
  Facts: <Facts facts={[[HOSTILE, HOSTILE]]} />,
  Copyable: <Copyable text={HOSTILE} label={HOSTILE} />,
  Status: <Status status={HOSTILE} />,
  Time: <Time at={HOSTILE} />,
};

describe("what a caller sent runs in no page:", () => {
  test.each(Object.entries(everyComponent))("%s", (_name, element) => {
    const html = String(element);
    expect(html).toContain("&lt;script&gt;");
    expect(html).not.toMatch(/<script|<img/);
    // Nothing of it has become an attribute.
    for (const [tag] of html.replace(/"[^"]*"/g, '""').matchAll(/<[^>]*>/g))
      expect(tag).not.toMatch(/ on\w+=/);
  });
});

describe("times", () => {
  const now = Date.UTC(2026, 10, 22, 4, 19, 37);

  test("are shown with year, seconds and zone until a script localises them", () => {
    expect(String(<Time at={now} />)).toBe(
      '<time datetime="2026-11-22T04:19:37.000Z" data-local="true">2026-11-22 04:19:37 UTC</time>',
    );
  });

  test("known only to the hour are shown as the hour's start and end", () => {
    expect(String(<Hour from="2026-11-22T23:00:00.000Z" />)).toBe(
      '<time datetime="2026-11-22T23:00:00.000Z" data-local-hour="true">2026-11-22 23:00 to 00:00 UTC</time>',
    );
  });

  test.each([
    [-240_000, "in 4 minutes"],
    [60_000, "1 minute ago"],
    [0, "just now"],
    [7_200_000, "2 hours ago"],
    [200_000_000, "2 days ago"],
  ])("of %d ms ago: %s", (ago, text) => {
    expect(String(<Ago at={now - ago} now={now} />)).toContain(`>${text}</time>`);
  });

  test("of less than a second are none", () => expect(lengthOfTime(400)).toBe("0 seconds"));
});

test("a field has the line ends that were typed", () => {
  expect(fieldOf(new URLSearchParams("a=x%0D%0Ay"), "a")).toBe("x\ny");
  expect(fieldOf(new URLSearchParams(), "a")).toBe("");
});
