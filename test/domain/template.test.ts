import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { templateAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  archiveTemplate,
  createTemplate,
  deleteTemplate,
  draftVersion,
  publishVersion,
  pushTemplate,
  renameTemplate,
} from "../../src/domain/template/decisions.ts";
import type { TemplateEvent } from "../../src/domain/template/events.ts";
import {
  findVersion,
  type Template,
  templateIn,
  templateStatus,
  versionForSend,
} from "../../src/domain/template/state.ts";
import {
  TEMPLATE_BYTES_MAX,
  TEMPLATES_MAX,
  VERSION_BYTES_MAX,
  VERSIONS_MAX,
} from "../../src/domain/template/templateLimits.ts";
import {
  fillVariables,
  type VariableDefinition,
  type VariableType,
} from "../../src/domain/template/variables.ts";
import { versionIdOfContent } from "../../src/domain/template/versionContent.ts";
import { newId } from "../../src/kernel/ids.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(templateAggregate);
const AT = "2030-01-01T00:00:00.000Z";
const LATER = "2030-01-02T00:00:00.000Z";
const ATTRIBUTES = { workspaceId: "w", name: "Welcome", at: AT };

const draft = (versionId: string, bytes = 10) => {
  return { versionId, subject: "s", html: null, text: "t", variables: [], bytes, at: AT };
};
const created: TemplateEvent = { type: "TemplateCreated", data: ATTRIBUTES };
const aliased = { type: "TemplateCreated" as const, data: { ...ATTRIBUTES, alias: "welcome" } };
const drafted = (number: number, bytes?: number): TemplateEvent => {
  return { type: "TemplateVersionDrafted", data: { ...draft(`v${number}`, bytes), number } };
};
const published = (number: number, at = AT): TemplateEvent => {
  return { type: "TemplateVersionPublished", data: { versionId: `v${number}`, at } };
};
const renamed: TemplateEvent = { type: "TemplateRenamed", data: { name: "Hello", at: LATER } };
const archived: TemplateEvent = { type: "TemplateArchived", data: { at: AT } };
const deletion = {
  type: "TemplateDeleted" as const,
  data: { workspaceId: "w", at: LATER, erased: [{ revision: 0, leaf: "leaf" }] },
};
/** What is left of a template that had so many events. */
const deletionAfter = (events: number): TemplateEvent => ({
  ...deletion,
  data: {
    ...deletion.data,
    erased: Array.from({ length: events }, (_, revision) => ({ revision, leaf: "leaf" })),
  },
});
const CHANGES_MAX = 10_000;
const many = (count: number, bytes?: number) =>
  Array.from({ length: count }, (_, index) => drafted(index + 1, bytes));

function stateOf(...events: readonly TemplateEvent[]): Template {
  const state = foldOf(templateAggregate, events);
  const template = templateIn(state, "w");
  if (template === null) throw new Error("the template was not created");
  return template;
}

describe("a template", () => {
  test("is created once", () => {
    given()
      .when((state) => createTemplate(state, ATTRIBUTES, 0))
      .then("created", created)
      .again("alreadyCreated");
  });

  test("is not created where there are as many as there can be, unless it is there already", () => {
    given()
      .when((state) => createTemplate(state, ATTRIBUTES, TEMPLATES_MAX))
      .then("templatesUsedUp");
    given(created)
      .when((state) => createTemplate(state, ATTRIBUTES, TEMPLATES_MAX))
      .then("alreadyCreated");
  });

  test("keeps its alias: under another name, or once it is archived, it is another one's", () => {
    given(aliased)
      .when((state) => createTemplate(state, { ...aliased.data, name: "Another" }, 1))
      .then("aliasTaken");
    given(aliased, archived)
      .when((state) => createTemplate(state, aliased.data, 1))
      .then("aliasTaken");
  });

  test("leaves its alias to another one when it is deleted, whose versions are where the log has them", () => {
    given(deletionAfter(3))
      .when((state) => createTemplate(state, aliased.data, 0))
      .then("created", aliased);
    // Revisions 3 and 4 are the deletion and the creation.
    const template = stateOf(deletionAfter(3), aliased, drafted(1));
    expect(template).toMatchObject({
      alias: "welcome",
      versions: [{ number: 1, revision: 5 }],
      revisions: 6,
    });
    given(deletionAfter(CHANGES_MAX))
      .when((state) => createTemplate(state, aliased.data, 0))
      .then("aliasUsedUp");
  });

  test("is a draft, then published, then archived for good", () => {
    expect(templateStatus(stateOf(created))).toBe("draft");
    expect(templateStatus(stateOf(created, drafted(1)))).toBe("draft");
    expect(templateStatus(stateOf(created, drafted(1), published(1)))).toBe("published");
    expect(templateStatus(stateOf(created, drafted(1), published(1), archived))).toBe("archived");
  });

  test("is renamed, which is a change; the name that it has is none", () => {
    given(created)
      .when((state) => renameTemplate(state, "w", renamed.data))
      .then("renamed", renamed)
      .again("renamed");
    expect(stateOf(created, renamed)).toMatchObject({ name: "Hello", updatedAt: LATER });
  });

  test("is archived once", () => {
    given(created, drafted(1))
      .when((state) => archiveTemplate(state, "w", AT))
      .then("archived", archived)
      .again("archived");
  });

  test("is deleted once, archived or not, and nothing is left of it", () => {
    for (const past of [[created], [created, drafted(1), published(1)], [created, archived]]) {
      given(...past)
        .when((state) => deleteTemplate(state, deletion.data))
        .then("deleted", deletion)
        .again("notFound");
      given(...past, deletion)
        .when((state) => draftVersion(state, "w", draft("v2")))
        .then("notFound");
    }
    // What is left in the log once the rest is cut off.
    given(deletion)
      .when((state) => deleteTemplate(state, deletion.data))
      .then("notFound");
  });

  test("accepts a bounded number of changes, and can be deleted even then", () => {
    const changes = Array.from({ length: CHANGES_MAX - 2 }, (_, index) => published(1 + (index % 2)));
    given(created, drafted(1), drafted(2), ...changes)
      .when((state) => publishVersion(state, "w", { versionId: "v1", at: LATER }))
      .then("changesUsedUp");
    given(created, drafted(1), drafted(2), ...changes)
      .when((state) => draftVersion(state, "w", draft("v3")))
      .then("changesUsedUp");
    given(created, drafted(1), drafted(2), ...changes)
      .when((state) => renameTemplate(state, "w", renamed.data))
      .then("changesUsedUp");
    given(created, drafted(1), drafted(2), ...changes.slice(1))
      .when((state) => draftVersion(state, "w", draft("v3")))
      .then("drafted", drafted(3));
    given(created, drafted(1), drafted(2), ...changes)
      .when((state) => deleteTemplate(state, deletion.data))
      .then("deleted", deletion);
  });

  test("of another workspace, or of nobody, is not found", () => {
    for (const past of [[], [created, drafted(1)], [created, drafted(1), archived]]) {
      const workspaceId = past.length === 0 ? "w" : "other";
      given(...past)
        .when((state) => draftVersion(state, workspaceId, draft("v2")))
        .then("notFound");
      given(...past)
        .when((state) => publishVersion(state, workspaceId, { versionId: "v1", at: AT }))
        .then("notFound");
      given(...past)
        .when((state) => renameTemplate(state, workspaceId, renamed.data))
        .then("notFound");
      given(...past)
        .when((state) => archiveTemplate(state, workspaceId, AT))
        .then("notFound");
      given(...past)
        .when((state) => deleteTemplate(state, { ...deletion.data, workspaceId }))
        .then("notFound");
    }
  });

  test("that is archived takes no drafts, publishes nothing and keeps its name", () => {
    given(created, archived)
      .when((state) => renameTemplate(state, "w", renamed.data))
      .then("archived");
    given(created, drafted(1), archived)
      .when((state) => draftVersion(state, "w", draft("v2")))
      .then("archived");
    given(created, drafted(1), archived)
      .when((state) => publishVersion(state, "w", { versionId: "v1", at: AT }))
      .then("archived");
  });

  test("knows when it last changed, not counting drafts", () => {
    expect(stateOf(created, drafted(1)).updatedAt).toBe(AT);
    expect(stateOf(created, drafted(1), published(1, LATER)).updatedAt).toBe(LATER);
  });
});

describe("a version", () => {
  test("is numbered from 1", () => {
    given(created)
      .when((state) => draftVersion(state, "w", draft("v1")))
      .then("drafted", drafted(1))
      .again("drafted");
    given(created, drafted(1), published(1))
      .when((state) => draftVersion(state, "w", draft("v2")))
      .then("drafted", drafted(2));
  });

  test("is the last one at the limit of versions", () => {
    given(created, ...many(VERSIONS_MAX - 1))
      .when((state) => draftVersion(state, "w", draft(`v${VERSIONS_MAX}`)))
      .then("drafted", drafted(VERSIONS_MAX));
    given(created, ...many(VERSIONS_MAX))
      .when((state) => draftVersion(state, "w", draft("another")))
      .then("versionsUsedUp");
  });

  test("is the last one at the limit of bytes", () => {
    const room = TEMPLATE_BYTES_MAX / VERSION_BYTES_MAX;
    const full = [created, ...many(room - 1, VERSION_BYTES_MAX)];
    given(...full)
      .when((state) => draftVersion(state, "w", draft(`v${room}`, VERSION_BYTES_MAX)))
      .then("drafted", drafted(room, VERSION_BYTES_MAX));
    given(...full)
      .when((state) => draftVersion(state, "w", draft(`v${room}`, VERSION_BYTES_MAX + 1)))
      .then("sourcesUsedUp");
  });

  test("is published once, and the last one published is the current one", () => {
    given(created, drafted(1), drafted(2))
      .when((state) => publishVersion(state, "w", { versionId: "v1", at: AT }))
      .then("published", published(1))
      .again("published");
    expect(stateOf(created, drafted(1), drafted(2), published(2), published(1)).currentVersionId).toBe("v1");
  });

  test("that was published before can be published again, and keeps its first publication time", () => {
    const past = [created, drafted(1), drafted(2), published(1), published(2, LATER)];
    given(...past)
      .when((state) => publishVersion(state, "w", { versionId: "v1", at: LATER }))
      .then("published", published(1, LATER))
      .again("published");
    expect(findVersion(stateOf(...past, published(1, LATER)), "v1")?.publishedAt).toBe(AT);
  });

  test("of another template is not found", () => {
    given(created, drafted(1))
      .when((state) => publishVersion(state, "w", { versionId: "elsewhere", at: AT }))
      .then("notFound");
  });

  test("for a send is the current or the named one, if it is published and the template is not archived", () => {
    const past = [created, drafted(1), drafted(2), drafted(3), published(1), published(2)];
    const state = stateOf(...past);
    expect(versionForSend(state, "w", null)?.id).toBe("v2");
    expect(versionForSend(state, "w", "v1")?.id).toBe("v1");
    for (const versionId of ["v3", "elsewhere"]) expect(versionForSend(state, "w", versionId)).toBeNull();
    expect(versionForSend(state, "other", null)).toBeNull();
    expect(versionForSend(null, "w", null)).toBeNull();
    expect(versionForSend(stateOf(created, drafted(1)), "w", null)).toBeNull();
    for (const versionId of [null, "v1"])
      expect(versionForSend(stateOf(...past, archived), "w", versionId)).toBeNull();
  });

  test("is at its revision, whatever happened around it (property)", () => {
    const verb = fc.constantFrom<keyof typeof verbs>("draft", "publish", "rename", "archive", "createAgain");
    const steps = fc.array(fc.tuple(verb, fc.nat({ max: 8 })), { maxLength: 30 });
    fc.assert(
      fc.property(steps, (history) => {
        const { events, state } = play(history);
        expect(state.revisions).toBe(events.length);
        state.versions.forEach((version, index) => {
          expect(version.number).toBe(index + 1);
          expect(events[version.revision]).toMatchObject({ data: { versionId: version.id } });
        });
        const life = events.slice(events.findLastIndex(({ type }) => type === "TemplateCreated"));
        const endedAt = life.findIndex(({ type }) => type === "TemplateArchived");
        expect([-1, life.length - 1]).toContain(endedAt);
        // What is left in the log once everything before a deletion is cut off.
        const deletedAt = events.findLastIndex(({ type }) => type === "TemplateDeleted");
        expect(stateOf(...events.slice(Math.max(0, deletedAt)))).toEqual(state);
      }),
    );
  });
});

const verbs = {
  draft: (state: Template, index: number) => draftVersion(state, "w", draft(`id-${index}`)),
  publish: (state: Template, index: number) =>
    publishVersion(state, "w", { versionId: `id-${index}`, at: AT }),
  rename: (state: Template, index: number) => renameTemplate(state, "w", { name: `name ${index}`, at: AT }),
  archive: (state: Template) => archiveTemplate(state, "w", AT),
  createAgain: ({ revisions }: Template) => ({ events: [deletionAfter(revisions), aliased] }),
};

/** What comes of these steps in turn, each with its number of a version. */
function play(steps: readonly (readonly [keyof typeof verbs, number])[]) {
  const events: TemplateEvent[] = [created];
  for (const [verb, index] of steps) events.push(...verbs[verb](stateOf(...events), index).events);
  return { events, state: stateOf(...events) };
}

describe("a push", () => {
  const toPush = (versionId: string, parts: { name?: string; isPublished?: boolean } = {}) => {
    const { at, ...content } = draft(versionId);
    return {
      workspaceId: "w",
      alias: "welcome",
      name: "Welcome",
      draft: content,
      isPublished: true,
      at,
      ...parts,
    };
  };
  const pushed = (number: number, ...events: readonly TemplateEvent[]) =>
    ({ changes: events.map(({ type }) => type), number }) as const;
  const current = [aliased, drafted(1), published(1)];

  test("of a new alias creates, drafts and publishes, and nothing when it is made again", () => {
    given()
      .when((state) => pushTemplate(state, toPush("v1"), 0))
      .then(pushed(1, ...current), ...current)
      .again(pushed(1));
    given(deletionAfter(3))
      .when((state) => pushTemplate(state, toPush("v1"), 0))
      .then(pushed(1, ...current), ...current);
  });

  test("of other content adds a version, and that of earlier content publishes it again", () => {
    given(...current)
      .when((state) => pushTemplate(state, toPush("v2"), 1))
      .then(pushed(2, drafted(2), published(2)), drafted(2), published(2));
    given(...current, drafted(2), published(2))
      .when((state) => pushTemplate(state, toPush("v1"), 1))
      .then(pushed(1, published(1)), published(1));
  });

  test("says how many more versions fit once they are few, by whichever limit comes first", () => {
    const left = (expected: number, bytes: number, ...before: readonly TemplateEvent[]) => {
      const { draft: content, ...parts } = toPush("another");
      const { outcome } = pushTemplate(stateOf(...before), { ...parts, draft: { ...content, bytes } }, 1);
      expect(outcome).toMatchObject({ versionsLeft: expected });
    };
    left(99, 100, aliased, ...many(VERSIONS_MAX - 100));
    left(0, 100, aliased, ...many(VERSIONS_MAX - 1));
    left(63, VERSION_BYTES_MAX, aliased);
    const publications = (count: number) => Array.from({ length: count }, (_, at) => published(1 + (at % 2)));
    left(9, 100, aliased, drafted(1), drafted(2), ...publications(CHANGES_MAX - 23));
    left(10, 100, aliased, drafted(1), drafted(2), ...publications(CHANGES_MAX - 24));
    left(0, 100, aliased, drafted(1), drafted(2), ...publications(CHANGES_MAX - 5));
  });

  test("of another name renames, and leaves the version as it is", () => {
    const name = renamed.data.name;
    const { at } = draft("");
    const event: TemplateEvent = { type: "TemplateRenamed", data: { name, at } };
    given(...current)
      .when((state) => pushTemplate(state, toPush("v1", { name }), 1))
      .then(pushed(1, event), event)
      .again(pushed(1));
  });

  test("without publication leaves a draft, which is there when it is made again, and is published later", () => {
    given(...current)
      .when((state) => pushTemplate(state, toPush("v2", { isPublished: false }), 1))
      .then(pushed(2, drafted(2)), drafted(2))
      .again(pushed(2));
    given(...current, drafted(2))
      .when((state) => pushTemplate(state, toPush("v2"), 1))
      .then(pushed(2, published(2)), published(2));
  });

  test("to an archived template, or beyond a limit, does nothing at all", () => {
    given(...current, archived)
      .when((state) => pushTemplate(state, toPush("v2", { name: "Hello" }), 1))
      .then("archived");
    given()
      .when((state) => pushTemplate(state, toPush("v1"), TEMPLATES_MAX))
      .then("templatesUsedUp");
    given(aliased, ...many(VERSIONS_MAX))
      .when((state) => pushTemplate(state, toPush("another", { name: "Hello" }), 1))
      .then("versionsUsedUp");
  });

  test("finds the version of its content, whatever an editor does to line ends and a byte order mark", () => {
    const content = { subject: "s", html: "<p>\n</p>", text: null, variables: [] };
    const [one, other] = [newId(), newId()];
    const id = versionIdOfContent(one, content);
    expect(versionIdOfContent(one, { ...content, html: "\uFEFF<p>\r\n</p>" })).toBe(id);
    expect(versionIdOfContent(one, { ...content, html: "<p></p>" })).not.toBe(id);
    expect(versionIdOfContent(other, content)).not.toBe(id);
  });
});

describe("variables", () => {
  const define = (type: VariableType, parts: Partial<VariableDefinition> = {}) => [
    { name: "x", type, required: true, ...parts },
  ];
  const samples: readonly [VariableType, readonly unknown[]][] = [
    ["string", ["", "text"]],
    ["number", [0, -1.5]],
    ["boolean", [true, false]],
    ["date", ["2030-01-31", "2030-01-31T12:00:00Z", "2030-01-31T12:00:00.5+02:00"]],
    ["list", [[], [1, "a"]]],
    ["object", [{}, { a: 1 }]],
  ];

  const pairs = samples.flatMap(([type]) =>
    samples.flatMap(([other, values]) => values.map((x) => [type, other, x] as const)),
  );
  test.each(pairs)("of type %s and one of type %s: %p", (type, other, x) => {
    const fits = type === other || (type === "string" && other === "date");
    expect(fillVariables(define(type), { x }).kind).toBe(fits ? "filled" : "wrong");
  });

  test.each([
    "",
    "today",
    "2030-02-30",
    "2030-13-01",
    "31.01.2030",
    "2030-01-31T12:00:00",
    "20300131",
    "10000-01-01",
  ])("%p is no date", (x) => {
    expect(fillVariables(define("date"), { x }).kind).toBe("wrong");
  });

  test("that are wrong are all reported at once", () => {
    const definitions: VariableDefinition[] = [
      { name: "a", type: "string", required: true },
      { name: "b", type: "number", required: false },
      { name: "c", type: "list", required: false },
    ];
    const filled = fillVariables(definitions, { b: "1", c: [] });
    expect(filled).toMatchObject({ kind: "wrong", faults: [{ name: "a" }, { name: "b" }] });
  });

  test("that are null count as not given", () => {
    expect(fillVariables(define("string"), { x: null }).kind).toBe("wrong");
    const optional = define("string", { required: false, default: "d" });
    expect(fillVariables(optional, { x: null })).toEqual({ kind: "filled", values: { x: "d" } });
  });

  test("have defaults, which a given value replaces, false and empty as well", () => {
    for (const x of ["", 0, false]) {
      const [definition] = define(typeof x as VariableType, { required: false, default: "d" });
      expect(fillVariables(definition ? [definition] : [], { x })).toEqual({ kind: "filled", values: { x } });
    }
  });

  test("without a definition are passed on unchanged", () => {
    expect(fillVariables([], { y: [1] })).toEqual({ kind: "filled", values: { y: [1] } });
  });

  test("named like a member of every object count as given only if they are", () => {
    const definitions: VariableDefinition[] = [{ name: "constructor", type: "string", required: true }];
    expect(fillVariables(definitions, {}).kind).toBe("wrong");
    expect(fillVariables(definitions, { constructor: "c" } as never).kind).toBe("filled");
    const prototype = JSON.parse(`{"__proto__": {"polluted": true}}`);
    const filled = fillVariables([], prototype);
    if (filled.kind !== "filled") throw new Error("variables are missing");
    expect(Object.getPrototypeOf(filled.values)).toBe(Object.prototype);
  });
});
