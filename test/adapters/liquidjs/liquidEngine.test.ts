import { afterEach, describe, expect, mock, spyOn, test } from "bun:test";
import fc from "fast-check";
import { Liquid } from "liquidjs";
import { liquidEngine } from "../../../src/adapters/liquidjs/liquidEngine.ts";
import type { RenderResult } from "../../../src/ports/templateEngine.ts";

const engine = liquidEngine();
const KINDS = ["html", "text"] as const;

function render(
  source: string,
  variables: Readonly<Record<string, unknown>> = {},
  kind: (typeof KINDS)[number] = "text",
): RenderResult {
  const compiled = engine.compile(source, kind);
  if (compiled.kind === "invalid") throw new Error(`${source.slice(0, 80)}: ${compiled.reason}`);
  return compiled.template.render(variables);
}

function outputOf(...call: Parameters<typeof render>): string {
  const result = render(...call);
  if (result.kind === "failed") throw new Error(`${call[0].slice(0, 80)}: ${result.reason}`);
  return result.output;
}

describe("output", () => {
  test("of variables is escaped in html and not in text", () => {
    const variables = { name: `<b>"&'` };
    expect(outputOf("<p>{{ name }}</p>", variables, "html")).toBe("<p>&lt;b&gt;&#34;&amp;&#39;</p>");
    expect(outputOf("<p>{{ name }}</p>", variables, "text")).toBe(`<p><b>"&'</p>`);
  });

  const unsafe = "<script>";
  test.each([
    "{{ x }}",
    "{{ x | upcase }}",
    "{{ x | raw | downcase }}",
    "{% echo x %}",
    "{% cycle x %}",
    "{% cycle 'name': x, 'y' %}",
    "{% liquid echo x %}",
    "{% capture y %}{{ x }}{% endcapture %}{{ y | raw }}",
    "{% assign y = x %}{{ y }}",
    "{% for i in list %}{{ i }}{% endfor %}",
    "{% tablerow i in list %}{{ i }}{% endtablerow %}",
    "{{ list }}",
    "{{ list | join: '<script>' }}",
    "{{ none | default: x }}",
    "{{ object | json }}",
    "{{ 'a' | append: x }}",
    "{% case 1 %}{% when 1 %}{{ x }}{% endcase %}",
    "{% if true %}{{ x }}{% endif %}",
    "{{ x | date: x }}",
    "{% for pair in object %}{{ pair[0] }}{{ pair[1] }}{% endfor %}",
    "{{ x | escape }}",
    "{{ x | escape_once }}",
  ])("in html by %p is escaped", (source) => {
    const output = outputOf(source, { x: unsafe, list: [unsafe], object: { [unsafe]: unsafe } }, "html");
    expect(output.toLowerCase()).toContain("&lt;script");
    expect(output.toLowerCase()).not.toContain("<script");
  });

  test("is raw where the author says so, and last", () => {
    expect(outputOf("{{ x | raw }}", { x: "<b>" }, "html")).toBe("<b>");
    expect(outputOf("{{ x | raw | strip }}", { x: "<b>" }, "html")).toBe("&lt;b&gt;");
  });

  test("is escaped only once, even where the author escapes too", () => {
    expect(outputOf("{{ x | escape }}", { x: "a&b" }, "html")).toBe("a&amp;b");
    expect(outputOf("{{ x | escape_once }}", { x: "a&amp;b" }, "html")).toBe("a&amp;b");
  });

  test("of any text (property): html holds no bracket of a variable, text holds the variable itself", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (x) => {
        expect(outputOf("{{ x }}", { x }, "html")).not.toMatch(/[<>"']/);
        expect(outputOf("{{ x }}", { x }, "text")).toBe(x);
      }),
    );
  });

  test("never cuts a character in half", () => {
    expect(outputOf("{{ x | split: '' | first }}", { x: "😀" })).toBe("\ufffd");
  });

  test("is the same for the same variables, and leaves them unchanged", () => {
    const variables = { n: 5, list: [2, 1], object: { a: 1 } };
    const before = structuredClone(variables);
    const source =
      "{% increment n %}{% assign list = list | sort %}{% capture object %}x{% endcapture %}{{ list }}{{ object }}";
    const first = outputOf(source, variables);
    expect(outputOf(source, variables)).toBe(first);
    expect(variables).toEqual(before);
  });
});

describe("dates", () => {
  test("are printed in UTC and in English", () => {
    const at = "2030-01-02T03:04:05.678+02:00";
    expect(outputOf("{{ at | date: '%Y-%m-%d %H:%M' }}", { at })).toBe("2030-01-02 01:04");
    expect(outputOf("{{ day | date: '%d.%m.%Y %H:%M' }}", { day: "2030-01-31" })).toBe("31.01.2030 00:00");
    expect(outputOf("{{ at | date: '%A, %B %-d, %Y at %-l:%M %P' }}", { at })).toBe(
      "Wednesday, January 2, 2030 at 1:04 am",
    );
    // Clocks went forward in many zones then: the zone of the process must not matter.
    expect(outputOf("{{ at | date: '%H:%M' }}", { at: "2030-03-10T02:30:00Z" })).toBe("02:30");
  });

  test.each([
    ["%a %b %C %e %F %h", "Thu Dec 20  5 2030-12-05 Dec"],
    ["%I %j %k %l %L %p %R", "09 339 21  9 007 PM 21:06"],
    ["%s %S %T %u %w %y %z %Z %%", "1922735167 07 21:06:07 4 4 30 +0000 UTC %"],
    ["%-d %_d %03d %^b %10Y %-m %_H", "5  5 005 DEC 0000002030 12 21"],
    ["%c|%D|%x|%X|%Q|%", "Thu Dec  5 21:06:07 2030|12/05/30|12/05/30|21:06:07|%Q|%"],
  ])("have the directives of strftime: %p", (format, expected) => {
    expect(outputOf("{{ at | date: format }}", { at: "2030-12-05T21:06:07.007Z", format })).toBe(expected);
  });

  test("are now, seconds or a time without a zone, too; what is none stays as it is", () => {
    const year = String(new Date().getUTCFullYear());
    expect(outputOf("{{ 'now' | date: '%Y' }}")).toBe(year);
    expect(outputOf("{{ 0 | date: '%F' }} {{ '86400' | date: '%F' }}")).toBe("1970-01-01 1970-01-02");
    expect(outputOf("{{ '2030-01-02 03:04' | date: '%H:%M' }}")).toBe("03:04");
    expect(
      outputOf("{{ 'soon' | date: '%Y' }}|{{ none | date: '%Y' }}|{{ '2030-13-01' | date: '%Y' }}"),
    ).toBe("soon||2030-13-01");
  });

  test.each([
    ["2030-07-01T12:00:00Z", "Europe/Berlin", "2030-07-01 14:00 +0200 Europe/Berlin 1909137600"],
    ["2030-01-01T23:30:00Z", "Europe/Berlin", "2030-01-02 00:30 +0100 Europe/Berlin 1893540600"],
    ["2030-03-31T00:59:00Z", "Europe/Berlin", "2030-03-31 01:59 +0100 Europe/Berlin 1901149140"],
    ["2030-03-31T01:00:00Z", "Europe/Berlin", "2030-03-31 03:00 +0200 Europe/Berlin 1901149200"],
    ["2030-01-01T02:00:00Z", "America/St_Johns", "2029-12-31 22:30 -0330 America/St_Johns 1893463200"],
    ["2030-01-01T02:00:00Z", "asia/kolkata", "2030-01-01 07:30 +0530 Asia/Kolkata 1893463200"],
    ["1880-01-01T00:00:00Z", "Europe/Berlin", "1880-01-01 00:53 +0053 Europe/Berlin -2840140800"],
    ["2030-01-01T02:00:00+02:00", "Etc/UTC", "2030-01-01 00:00 +0000 Etc/UTC 1893456000"],
    ["2030-01-31T10:00:00", "us/eastern", "2030-01-31 05:00 -0500 US/Eastern 1896084000"],
    // A day is the same everywhere, and begins at midnight there.
    ["2030-01-01", "America/New_York", "2030-01-01 00:00 -0500 America/New_York 1893474000"],
    ["2030-03-31", "Europe/Berlin", "2030-03-31 00:00 +0100 Europe/Berlin 1901142000"],
    ["2030-04-01", "Europe/Berlin", "2030-04-01 00:00 +0200 Europe/Berlin 1901224800"],
    ["2030-10-27", "Europe/Berlin", "2030-10-27 00:00 +0200 Europe/Berlin 1919282400"],
    ["2030-10-28", "Europe/Berlin", "2030-10-28 00:00 +0100 Europe/Berlin 1919372400"],
    ["2030-01-01", "Pacific/Kiritimati", "2030-01-01 00:00 +1400 Pacific/Kiritimati 1893405600"],
    // Clocks went from 00:00 to 01:00, and from 01:00 back to 00:00.
    ["2018-11-04", "America/Sao_Paulo", "2018-11-04 00:00 -0300 America/Sao_Paulo 1541300400"],
    ["2018-11-05", "America/Sao_Paulo", "2018-11-05 00:00 -0200 America/Sao_Paulo 1541383200"],
    ["2018-11-04", "America/Havana", "2018-11-04 00:00 -0400 America/Havana 1541304000"],
  ])("are printed in a time zone: %s in %s", (at, zone, expected) => {
    expect(outputOf("{{ at | date: '%F %R %z %Z %s', zone }}", { at, zone })).toBe(expected);
    expect(outputOf(`{{ at | date: '%F %R %z %Z %s', "${zone}" }}`, { at })).toBe(expected);
  });

  test("are in UTC where the time zone has no value", () => {
    expect(outputOf("{{ 0 | date: '%R %Z', zone }}", { zone: null })).toBe("00:00 UTC");
  });

  const zones = ["Europe/Berln", "", "+01:00", "CEST in summer", `Europe/${"x".repeat(100)}`];
  test.each(zones)(
    "refuse the unknown time zone %p by name, before the first render if it is written",
    (zone) => {
      const named = `has an unknown time zone: ${zone.slice(0, 64)}`;
      const rendered = render("{{ 0 | date: '%R', zone }}", { zone });
      expect(rendered).toMatchObject({ kind: "failed", reason: expect.stringContaining(named) });
      for (const source of [
        `{{ 0 | date: '%R', '${zone}' }}`,
        `{% assign x = 0 | date: '%R', '${zone}' %}`,
      ]) {
        const compiled = engine.compile(source, "text");
        expect(compiled).toMatchObject({ kind: "invalid", reason: expect.stringContaining(named) });
      }
    },
  );

  test("are printed in at most 50 time zones by one render, whatever was rendered before", () => {
    const names = Intl.supportedValuesOf("timeZone");
    const source = "{% for zone in zones %}{{ 0 | date: '%R', zone }}{{ 0 | date: '%R', zone }}{% endfor %}";
    expect(render(source, { zones: names.slice(50, 100) })).toMatchObject({ kind: "rendered" });
    const spellings = names.slice(0, 50).flatMap((zone) => [zone, zone.toLowerCase()]);
    expect(render(source, { zones: spellings })).toMatchObject({ kind: "rendered" });
    expect(render(source, { zones: names.slice(0, 51) })).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("uses more than 50 time zones"),
    });
  });

  test("cost three times as much in a zone if they are days without a time", () => {
    const source = "{% for i in list %}{{ at | date: '%R', 'Europe/Berlin' }}{% endfor %}";
    const list = Array.from({ length: 6_000 }, () => 0);
    expect(render(source, { list, at: "2030-01-01T00:00:00Z" })).toMatchObject({ kind: "rendered" });
    expect(render(source, { list, at: "2030-01-01" })).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("takes too much work"),
    });
  });

  test("name at most 50 time zones in one template", () => {
    const naming = (names: string[]) =>
      engine.compile(names.map((name) => `{{ 0 | date: '%R', '${name}' }}`).join(""), "text");
    const names = Intl.supportedValuesOf("timeZone");
    const spellings = names.slice(0, 50).flatMap((name) => [name, name.toLowerCase()]);
    expect(naming(spellings)).toMatchObject({ kind: "compiled" });
    expect(naming(names.slice(50, 100))).toMatchObject({ kind: "compiled" });
    expect(naming(names.slice(0, 51))).toMatchObject({
      kind: "invalid",
      reason: expect.stringContaining("uses more than 50 time zones"),
    });
  });

  test("check a time zone that a template names without formatting a time", () => {
    const zones = [...Intl.supportedValuesOf("timeZone"), "us/eastern", "Asia/Calcutta"];
    const compileAll = () =>
      zones.map((zone) => engine.compile(`{{ 0 | date: '%R', '${zone}' }}`, "text").kind);
    compileAll();
    const formats = spyOn(Intl, "DateTimeFormat");
    try {
      expect(new Set(compileAll())).toEqual(new Set(["compiled"]));
      expect(formats).not.toHaveBeenCalled();
    } finally {
      formats.mockRestore();
    }
  });

  test("have bounds", () => {
    expect(render("{{ at | date: f }}", { at: "2030-01-01", f: "%Y".repeat(101) }).kind).toBe("failed");
    expect(outputOf("{{ at | date: '%999999999d' }}", { at: "2030-01-01" })).toHaveLength(40);
    expect(outputOf("{{ at | date: '%Y' }}", { at: 1e300 })).toBe("1e+300");
  });
});

describe("a source", () => {
  test.each([
    "{{ a",
    "{% if a %}",
    "{% for i in a %}",
    "{% if %}{% endif %}",
    "{% capture %}{% endcapture %}",
    "{% nope %}",
    "{{ a | nope }}",
    "{{ a | where_exp: 'x', 'x' }}",
    "{{ a | find_exp: 'x', 'x' }}",
    "{{ a | sample }}",
    "{{ a | push: a }}",
    "{{ a | constructor }}",
    "{{ a | __proto__ }}",
    "{% include 'a' %}",
    "{% render 'a' %}",
    "{% layout 'a' %}",
    "{% block a %}{% endblock %}",
    "{% constructor %}",
    "{% __proto__ %}",
  ])("%p is invalid", (source) => {
    for (const kind of KINDS) {
      const result = engine.compile(source, kind);
      expect(result.kind).toBe("invalid");
      if (result.kind === "invalid") expect(result.reason).toMatch(/\S/);
    }
  });

  test("names the line", () => {
    const result = engine.compile("a\nb {{ c | nope }}", "html");
    expect(result).toMatchObject({ kind: "invalid", reason: expect.stringContaining("line:2") });
  });

  test.each([
    ["Hello {{{NAME}}}", "write {{ name }}, or {{ name | raw }}"],
    ["{{#items}}{{title}}{{/items}}", "write {% for item in name %}"],
    ["{{#each items as |one|}}{{/each}}", "write {% for item in name %}"],
    ["{{^ name }}nobody{{/name}}", "write {% unless name %}"],
    ["{{#unless name}}nobody{{/unless}}", "write {% unless name %}"],
    ["<main>{{{ @content }}}</main>", "there are no layouts"],
    ["{% if a %}{{^a}}{% endif %}{{{b}}}", "write {% unless name %}"],
    ["Hello {{{NAME", "write {{ name }}, or {{ name | raw }}"],
  ])("in another service's syntax, %p, gets advice what to write", (source, advice) => {
    for (const kind of KINDS)
      expect(engine.compile(source, kind)).toMatchObject({
        kind: "invalid",
        reason: expect.stringContaining(advice),
      });
  });

  test.each<[string, string]>([
    ["too long", "a".repeat(256 * 1_024 + 1)],
    ["of too many tags", "{{a}}".repeat(5_001)],
    ["of too many statements in a tag", `{% liquid ${"echo a\n".repeat(5_001)} %}`],
    ["of too long tags", `${"{% assign a = b %}".repeat(4_000)}{{ a${" | upcase".repeat(4_000)} }}`],
    ["of too many conditions", `{% assign x = ${"a and ".repeat(17_000)}b %}`],
    ["of too many values", `{% case a %}{% when ${"1,".repeat(50_000)}1 %}{% endcase %}`],
    ["that hides the end of a tag in a string", `{{ '}}'${" | upcase".repeat(12_000)} }}`],
    ["of liquid in liquid", `{% liquid ${"liquid ".repeat(5_000)}echo a %}`],
    ["nested beyond the stack", "{% if a %}".repeat(5_000)],
    ["with brackets beyond the stack", `{{ a${"[a".repeat(100_000)} }}`],
    ["of braces", "{{".repeat(5_000)],
    ["of tags without end", "{%".repeat(5_000)],
    ["with a string without end", `{{ "${"a".repeat(200_000)}`],
  ])("%s is invalid", (_what, source) => {
    for (const kind of KINDS) expect(engine.compile(source, kind).kind).toBe("invalid");
  });

  test("of any text (property) compiles or is invalid, and renders or fails, but never throws", () => {
    const pieces = fc.constantFrom(
      ..."{{ }} {% %} if endif for in endfor a b.c [ ] ( ) .. | : , 'x' \" assign = capture endcapture raw endraw date append liquid - \n # case when comment endcomment 1 cycle".split(
        " ",
      ),
    );
    const sources = fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(" "));
    fc.assert(
      fc.property(sources, (source) => {
        const compiled = engine.compile(source, "html");
        if (compiled.kind === "compiled")
          compiled.template.render({ a: [1, "x"], b: { c: { toString: 1 } } });
      }),
      { numRuns: 2_000 },
    );
  });
});

const large = "ab".repeat(40_000);
const list = Array.from({ length: 20_000 }, (_, index) => index);

describe("a hostile template", () => {
  const doubled = (filter: string, start: string) =>
    `{% assign x = ${start} %}{% for i in (1..60) %}{% assign x = x | ${filter} %}{% endfor %}{{ x | size }}`;
  const hostile: readonly [string, string][] = [
    ["loops within loops", `${"{% for i in (1..1000) %}".repeat(4)}x${"{% endfor %}".repeat(4)}`],
    ["loops that do nothing", "{% for i in (1..900000) %}{% endfor %}"],
    ["a huge range", "{% for i in (1..100000000) %}{% endfor %}"],
    ["a range to infinity", "{{ (1..n) | size }}"],
    ["a range of texts", "{{ ('1'..'999999999') | size }}"],
    [
      "a range that adding 1 does not advance",
      "{% for i in (9007199254740992..9007199254740993) %}{% endfor %}",
    ],
    ["a table of such a range", "{% tablerow i in (-9007199254740994..1) limit: 1 %}{% endtablerow %}"],
    ["such a range of variables", "{% assign r = (beyond..beyond) %}"],
    ["such a range of texts", "{% if (text..text) contains 1 %}{% endif %}"],
    [
      "such a range of results",
      "{% assign a = beyond | plus: 0 %}{% liquid\nfor i in (a..a)\necho i\nendfor %}",
    ],
    ["such a range in an argument", "{{ list | concat: (beyond..beyond) | size }}"],
    ["ranges of lists", "{% for i in (1..90000) %}{% for j in (list..1) %}{% endfor %}{% endfor %}"],
    ["doubling a text", doubled("append: x", "'x'")],
    ["doubling by replacing", doubled("replace: 'x', 'xx'", "'x'")],
    ["doubling by escaping", doubled("json", "'\\\"'")],
    ["doubling a list", doubled("concat: x", "list")],
    [
      "doubling by capturing",
      "{% assign x = 'x' %}{% for i in (1..60) %}{% capture x %}{{ x }}{{ x }}{% endcapture %}{% endfor %}{{ x }}",
    ],
    [
      "capturing raw",
      "{% for i in (1..90000) %}{% capture x %}{{ x }}{{ big | raw }}{% endcapture %}{% endfor %}{% if x contains 'y' %}{% endif %}",
    ],
    ["writing without end", "{% for i in (1..90000) %}{{ big }}{% endfor %}"],
    ["writing lists", "{% for i in (1..90000) %}{{ list }}{% endfor %}"],
    ["naming zones", "{% for i in (1..90000) %}{{ at | date: '%Z%Z%Z', 'Asia/Tokyo' }}{% endfor %}"],
    ["many times in zones", "{% for i in (1..90000) %}{{ i | date: '%R', 'Asia/Tokyo' }}{% endfor %}"],
    ["sorting again and again", `{{ list${" | sort_natural".repeat(500)} }}`],
    [
      "seeking a long text",
      "{% assign y = big | slice: 0, 40000 | append: 'ba' %}{% for i in (1..9) %}{% if big contains y %}{% endif %}{{ big | split: y }}{% endfor %}",
    ],
    ["seeking in many texts", "{% for i in (1..90000) %}{% if list contains big %}{% endif %}{% endfor %}"],
    ["comparing long texts", "{% for i in (1..90000) %}{% if big == big2 %}{% endif %}{% endfor %}"],
    ["many cases", `{% case big %}{% when ${"big2,".repeat(19_000)}1 %}{% endcase %}`],
    [
      "capturing more than can be sent",
      "{% capture x %}{% for i in (1..13) %}{{ big | raw }}{% endfor %}{% endcapture %}",
    ],
    [
      "splitting by a long text",
      "{% assign y = big | slice: 0, 40000 | append: 'ba' %}{{ big | split: y | size }}",
    ],
    ["naming a cycle by a list", "{% for i in (1..100) %}{% cycle list: 'a', 'b' %}{% endfor %}"],
    ["keys that are lists", `{{ object${"[list]".repeat(16_000)} }}`],
    ["keys in arguments", `{{ 'a' | append: 'a'${", object[list]".repeat(6_500)} }}`],
    [
      "copying in each turn",
      "{% for i in (1..90000) %}{% for j in list reversed %}{% break %}{% endfor %}{% endfor %}",
    ],
    ["a table", "{% tablerow i in (1..900000) %}{{ i }}{% endtablerow %}"],
    ["a path without end", `{% assign p = 'a' %}{{ list | map: '${"a.".repeat(49_000)}a' }}`],
    ["an object that has no text", "{{ nothing }}"],
    ["half a percent sign", "{{ '%' | url_decode }}"],
    [
      "a loop's own constructor, called",
      "{% for i in list %}{{ forloop.constructor.constructor | append }}{% endfor %}",
    ],
  ];
  const variables = {
    big: large,
    big2: `${large.slice(0, -1)}c`,
    list,
    at: "2030-01-01T00:00:00Z",
    n: Number.POSITIVE_INFINITY,
    beyond: 2 ** 53,
    text: "9007199254740992",
    object: { a: { b: 1 } },
    nothing: { toString: 1, valueOf: 1 },
  };

  test.each(hostile)("by %s fails", (_what, source) => {
    for (const kind of KINDS) {
      const result = render(source, variables, kind);
      expect(result.kind).toBe("failed");
      if (result.kind === "failed") expect(result.reason.length).toBeLessThanOrEqual(200);
    }
  });

  test("leaves the engine unharmed", () => {
    for (const [, source] of hostile) render(source, variables);
    expect(outputOf("{{ a }}", { a: 1 })).toBe("1");
  });

  test("sees only own properties", () => {
    const seen = [
      "constructor",
      "__proto__",
      "toString",
      "hasOwnProperty",
      "text.constructor",
      "text.__proto__",
      "list.constructor",
      "list.map",
      "list.__proto__.constructor",
      "object.constructor.constructor",
      "object['__proto__']",
      "object[key]",
      "object.a.valueOf",
    ];
    const given = { text: "t", list: [1], object: { a: {} }, key: "constructor" };
    for (const path of seen) expect([path, outputOf(`{{ ${path} }}`, given)]).toEqual([path, ""]);
    const own = JSON.parse(`{"object": {"constructor": "mine", "__proto__": "own"}}`);
    expect(outputOf("{{ object.constructor }}{{ object.__proto__ }}", own)).toBe("mineown");
    const inLoop =
      "{% for i in list %}{{ forloop.constructor }}{{ forloop.__proto__ }}{{ forloop.toString }}{% endfor %}";
    expect(outputOf(inLoop, given)).toBe("");
  });

  test("changes no prototype", () => {
    outputOf(
      "{% assign __proto__ = 'x' %}{% capture constructor %}y{% endcapture %}{% increment toString %}",
    );
    expect(({} as Record<string, unknown>).x).toBeUndefined();
    expect(typeof {}.toString).toBe("function");
  });
});

test("an honest template renders as with plain liquidjs (property)", () => {
  const plain = new Liquid();
  const paths = fc.constantFrom(
    "a",
    "b.c",
    "b['c']",
    "d[0]",
    "d[1].e",
    "d.size",
    "d.first",
    "b[k]",
    "none.x",
    "'text'",
    "7",
  );
  const filters = fc.constantFrom(
    "",
    "| upcase",
    "| append: a",
    "| default: b.c",
    "| size",
    "| join: k",
    "| plus: 2",
  );
  const outputs = fc.tuple(paths, filters).map(([path, filter]) => `{{ ${path} ${filter} }}`);
  const tags = fc
    .tuple(paths, outputs, fc.constantFrom("for x in", "if", "unless"))
    .map(([path, inner, tag]) => `{% ${tag} ${path} %}${inner}{% end${tag.split(" ")[0]} %}`);
  const sources = fc.array(fc.oneof(outputs, tags), { maxLength: 6 }).map((parts) => parts.join("-"));
  const variables = { a: "A", b: { c: "C" }, d: ["D", { e: 1 }], k: "c" };
  fc.assert(
    fc.property(sources, (source) => {
      expect(outputOf(source, variables)).toBe(plain.parseAndRenderSync(source, variables));
    }),
    { numRuns: 500 },
  );
});

test("a large but honest template is within the bounds", () => {
  const items = Array.from({ length: 500 }, (_, index) => ({
    name: `Item <${index}>`,
    price: index,
    at: "2030-01-01",
  }));
  const source = `<table>{% for item in items %}<tr><td>{{ item.name | truncate: 40 }}</td>
    <td>{{ item.price | times: 1.2 | round: 2 }}</td><td>{{ item.at | date: "%B %-d, %Y" }}</td></tr>{% endfor %}</table>
    {{ items | map: "price" | sum }} {{ items | where: "price", 3 | map: "name" | join: ", " }}`;
  expect(outputOf(source, { items }, "html")).toContain("124750 Item &lt;3&gt;");
  expect(
    outputOf("{{ big }}{{ big }}{{ big }}{{ big }}{{ big }}{{ big }}", { big: large }, "html"),
  ).toHaveLength(480_000);
});

describe("html of 500,000 characters, as many as can be sent directly", () => {
  const fifth = (character: string) => ({ fifth: character.repeat(100_000) });
  test.each([
    ["written", "{% for i in (1..5) %}{{ fifth }}{% endfor %}"],
    ["written raw", "{% for i in (1..5) %}{{ fifth | raw }}{% endfor %}"],
    [
      "captured, then written",
      "{% capture x %}{% for i in (1..5) %}{{ fifth }}{% endfor %}{% endcapture %}{{ x }}",
    ],
    ["filtered", "{% for i in (1..5) %}{{ fifth | upcase }}{% endfor %}"],
    [
      "filtered and captured",
      "{% for i in (1..5) %}{% capture x %}{{ fifth | strip }}{% endcapture %}{{ x | raw }}{% endfor %}",
    ],
    ["with its line breaks made", "{% for i in (1..5) %}{{ fifth | newline_to_br }}{% endfor %}"],
  ])("%s is within the bounds, in characters of one unit or of two", (_, source) => {
    for (const character of ["a", "😀"]) {
      const output = outputOf(source, fifth(character), "html");
      expect([...output]).toHaveLength(500_000);
    }
  });
});

describe("the variables of a template", () => {
  const used = (source: string, kind: (typeof KINDS)[number] = "html") => {
    const compiled = engine.compile(source, kind);
    if (compiled.kind === "invalid") throw new Error(compiled.reason);
    return compiled.template.variables();
  };

  test.each<[string, string]>([
    ["{{ a }} {{ b.c.d }} {{ a }}", "a b"],
    ["{{ a[b.c]['d e'].f }} {{ [g] }}", "a b g"],
    ["{{ a | append: b | default: c, allow_false: d }}", "a b c d"],
    ["{{ (1..n) | join: s }} {{ 'text' }} {{ 7 }} {{ nil }} {{ true }} {{ empty }} {{ blank }}", "n s"],
    ["{% assign x = a | plus: b %}{{ x.y }}", "a b"],
    ["{% capture x %}{{ a }}{% endcapture %}{{ x }}{% capture 'y' %}{% endcapture %}{{ y }}", "a"],
    [
      "{% for i in a limit: n offset: m reversed %}{{ i.b }}{{ forloop.index }}{% else %}{{ c }}{% endfor %}",
      "a c m n",
    ],
    [
      "{% for i in a offset: continue %}{% for j in i %}{{ forloop.parentloop.index }}{{ j }}{% endfor %}{% endfor %}",
      "a",
    ],
    ["{% for i in a %}{% endfor %}{{ i }}{{ forloop.index }}", "a forloop i"],
    ["{% for i in a %}{{ last }}{% assign last = i %}{% endfor %}{{ last }}", "a"],
    ["{% tablerow i in a cols: c %}{{ i }}{{ tablerowloop.col }}{% endtablerow %}", "a c"],
    ["{% if a == empty and b contains c %}{% elsif d %}{{ e }}{% else %}{{ f }}{% endif %}", "a b c d e f"],
    [
      "{% unless a %}{{ b }}{% endunless %}{% case c %}{% when d, 'x' or e %}{% else %}{{ f }}{% endcase %}",
      "a b c d e f",
    ],
    ["{% cycle g: a, 'b' %}{% echo c %}{% increment n %}{{ n }}{% decrement m %}", "a c g"],
    ["{% liquid\n assign x = a\n for i in x\n echo i\n echo b\n endfor %}", "a b"],
    ["{% raw %}{{ a }}{% endraw %}{% comment %}{{ b }}{% endcomment %}{% # {{ c }} %}", ""],
    ["{{ __proto__ }}{{ constructor.name }}{{ ['a name'] }}", "__proto__ a name constructor"],
  ])("of %j are those that it does not make itself: %s", (source, names) => {
    for (const kind of KINDS) {
      const found = used(source, kind).map(({ name }) => name);
      expect(found.toSorted().join(" ")).toBe(names);
    }
  });

  test("carry the line where each is first read", () => {
    expect(used("a\n{{ b }}\n{% if c %}{{ b }}{% endif %}")).toEqual([
      { name: "b", line: 2 },
      { name: "c", line: 3 },
    ]);
  });

  test("are found in one tag as long as tags may be", () => {
    expect(used(`{% if a${" and a".repeat(16_000)}\nand b %}{% endif %}`)).toEqual([
      { name: "a", line: 1 },
      { name: "b", line: 2 },
    ]);
  });

  test("are found in any template that compiles (property)", () => {
    const pieces = fc.constantFrom(
      ..."{{ }} {% %} if endif for in endfor a b.c [ ] ( ) .. | : , 'x' = assign capture endcapture cycle case when endcase echo liquid 1".split(
        " ",
      ),
    );
    const sources = fc.array(pieces, { maxLength: 25 }).map((parts) => parts.join(" "));
    fc.assert(
      fc.property(sources, (source) => {
        const compiled = engine.compile(source, "html");
        if (compiled.kind === "compiled")
          for (const { line } of compiled.template.variables()) expect(line).toBe(1);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the time of a render", () => {
  const LATER_MS = 10_000;
  const source = "{% for i in (1..1000) %}{{ i }}{% endfor %}";
  const cpuUsage = process.threadCpuUsage.bind(process);
  const now = performance.now.bind(performance);
  afterEach(() => mock.restore());

  /** A clock that advances ten seconds at each reading. */
  function speedUpClock(): void {
    let passed = 0;
    spyOn(performance, "now").mockImplementation(() => {
      passed += LATER_MS;
      return now() + passed;
    });
  }

  test("does not run out because the machine is busy with something else", () => {
    speedUpClock();
    expect(outputOf(source)).toStartWith("12345");
  });

  test("runs out with its processor time", () => {
    speedUpClock();
    let spent = 0;
    spyOn(process, "threadCpuUsage").mockImplementation(() => {
      spent += LATER_MS * 1_000;
      const { user, system } = cpuUsage();
      return { user: user + spent, system };
    });
    expect(render(source)).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("takes too long"),
    });
  });
});
