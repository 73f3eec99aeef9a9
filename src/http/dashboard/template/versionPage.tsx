/** @jsxImportSource hono/jsx */

import type { FC } from "hono/jsx";
import type { VersionView } from "../../../commands/template/readTemplate.ts";
import type { Template } from "../../../domain/template/state.ts";
import type { VariableDefinition } from "../../../domain/template/variables.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import { ActionButton, LinkButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { type Column, Copyable, Facts, RowTable, withFilter } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { type DiffLine, type DiffRow, lineDiff } from "./lineDiff.ts";

interface VersionDetailProps {
  readonly context: PageContext;
  /** The path of the template's page. */
  readonly at: string;
  readonly template: Template;
  readonly view: VersionView;
}

/** A version as drafted. */
export const VersionDetail: FC<VersionDetailProps> = ({
  context,
  at,
  template,
  view: { version, source },
}) => {
  const isCurrent = version.id === template.currentVersionId;
  return (
    <>
      <Heading
        title={`Version ${version.number}`}
        beside={
          <>
            <Status status={version.publishedAt === null ? "draft" : "published"} />
            {isCurrent ? <span class="soft">in use</span> : null}
          </>
        }
      >
        {template.isArchived ? null : (
          <>
            {isCurrent ? null : (
              <ActionButton
                context={context}
                action={`${at}/versions/${version.id}/publish`}
                verb={version.publishedAt === null ? "Publish" : "Publish again"}
                kind="primary"
              />
            )}
            {context.may("email:send") ? (
              <LinkButton href={context.to(`${at}/versions/${version.id}/test-send`)} label="Test send" />
            ) : null}
            <LinkButton href={context.to(`${at}/draft?from=${version.id}`)} label="New draft from this" />
          </>
        )}
      </Heading>
      <Facts
        facts={[
          ["template_version_id", <Copyable text={version.id} label="the version's id" />],
          ["Drafted", <Time at={version.createdAt} />],
          [
            "First published",
            version.publishedAt === null ? "never: no send uses it" : <Time at={version.publishedAt} />,
          ],
          ["Subject", <code>{source.subject}</code>],
          [
            "Messages",
            context.may("email:status") ? (
              <a href={context.to(withFilter("/messages", { q: `version:${version.id}` }))}>made from it</a>
            ) : null,
          ],
        ]}
      />
      <Variables variables={source.variables} />
      <Source title="HTML" source={source.html} />
      <Source title="Text" source={source.text} />
    </>
  );
};

const VARIABLE_COLUMNS: readonly Column<VariableDefinition>[] = [
  { title: "Name", cell: ({ name }) => <code>{name}</code> },
  { title: "Type", cell: ({ type }) => type },
  { title: "Without a value", cell: (definition) => withoutValue(definition) },
];

const Variables: FC<{ readonly variables: readonly VariableDefinition[] }> = ({ variables }) => (
  <section class="section">
    <h2>Variables</h2>
    {variables.length === 0 ? (
      <p class="soft">It has none.</p>
    ) : (
      <RowTable label="Variables" columns={VARIABLE_COLUMNS} rows={variables} />
    )}
  </section>
);

function withoutValue({ required, default: fallback }: VariableDefinition) {
  if (required) return "the send is refused";
  return fallback === undefined ? "empty" : <code>{JSON.stringify(fallback)}</code>;
}

const Source: FC<{ readonly title: string; readonly source: string | null }> = ({ title, source }) => (
  <section class="section">
    <h2>{title}</h2>
    {source === null ? <p class="soft">It has none.</p> : <pre class="source">{source}</pre>}
  </section>
);

interface VersionComparisonProps {
  readonly context: PageContext;
  /** The path of the template's page. */
  readonly at: string;
  readonly from: VersionView;
  readonly to: VersionView;
}

/** Two versions side by side, by lines. */
export const VersionComparison: FC<VersionComparisonProps> = ({ context, at, from, to }) => {
  const parts = [
    ["Subject", from.source.subject, to.source.subject],
    ["Variables", variableLines(from.source.variables), variableLines(to.source.variables)],
    ["HTML", from.source.html ?? "", to.source.html ?? ""],
    ["Text", from.source.text ?? "", to.source.text ?? ""],
  ] as const;
  return (
    <>
      <Heading title={`Version ${from.version.number} and version ${to.version.number}`}>
        <LinkButton
          href={context.to(`${at}/compare?from=${to.version.id}&to=${from.version.id}`)}
          label="Swap sides"
        />
        <a class="button" href={context.to(`${at}/versions/${to.version.id}`)}>
          Open version {to.version.number}
        </a>
      </Heading>
      {parts.map(([title, before, after]) => (
        <section class="section">
          <h2>{title}</h2>
          {before === after ? (
            <p class="soft">{before === "" ? "Neither has any." : "The same in both."}</p>
          ) : (
            <Diff
              label={`${title}: version ${from.version.number} and version ${to.version.number}`}
              names={[`Version ${from.version.number}`, `Version ${to.version.number}`]}
              rows={lineDiff(before, after)}
            />
          )}
        </section>
      ))}
    </>
  );
};

/** One variable per line, so definitions are compared like text. */
function variableLines(variables: readonly VariableDefinition[]): string {
  return variables
    .map(({ name, type, required, default: fallback }) => {
      const rest = [
        ...(required ? ["required"] : []),
        ...(fallback === undefined ? [] : [`default ${JSON.stringify(fallback)}`]),
      ];
      return [`${name}: ${type}`, ...rest].join(", ");
    })
    .join("\n");
}

interface DiffProps {
  readonly label: string;
  readonly names: readonly [old: string, next: string];
  readonly rows: readonly DiffRow[];
}

const Diff: FC<DiffProps> = ({ label, names: [old, next], rows }) => (
  <section class="table" tabindex={0} aria-label={label}>
    <table class="diff">
      <caption class="unseen">{label}</caption>
      <colgroup>
        <col class="numbers" />
        <col />
        <col class="numbers" />
        <col />
      </colgroup>
      <thead>
        <tr>
          <th scope="col" colspan={2}>
            {old}
          </th>
          <th scope="col" colspan={2}>
            {next}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) =>
          row.kind === "folded" || row.kind === "cut" ? (
            <tr class="folded">
              <td colspan={4}>{passedOver(row)}</td>
            </tr>
          ) : (
            <tr>
              <Side line={row.old} mark={row.kind === "same" ? null : "removed"} />
              <Side line={row.new} mark={row.kind === "same" ? null : "added"} />
            </tr>
          ),
        )}
      </tbody>
    </table>
  </section>
);

function passedOver(row: Extract<DiffRow, { kind: "folded" | "cut" }>): string {
  if (row.kind === "cut")
    return "What comes after is not shown: the versions are too long, or differ too much";
  return `${row.lines === 1 ? "1 line" : `${grouped(row.lines)} lines`} the same in both`;
}

interface SideProps {
  readonly line: DiffLine | null;
  readonly mark: "removed" | "added" | null;
}

const Side: FC<SideProps> = ({ line, mark }) =>
  line === null ? (
    <td class="none" colspan={2} />
  ) : (
    <>
      <td class="line-number">{line.number}</td>
      <td class={mark ?? undefined}>
        {mark === null ? (
          <span>{line.text}</span>
        ) : mark === "added" ? (
          <ins>{line.text}</ins>
        ) : (
          <del>{line.text}</del>
        )}
      </td>
    </>
  );
