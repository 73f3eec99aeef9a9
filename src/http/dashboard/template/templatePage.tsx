/** @jsxImportSource hono/jsx */

import type { FC } from "hono/jsx";
import type { TemplateRow } from "../../../../projections/templates.ts";
import { type Template, type TemplateVersion, templateStatus } from "../../../domain/template/state.ts";
import type { Page } from "../../lists/cursorPaging.ts";
import { LinkButton } from "../components/button.tsx";
import { Bytes } from "../components/bytes.tsx";
import { Select } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Empty, Facts, Pager, RowList, RowTable } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";

interface TemplateListProps {
  readonly context: PageContext;
  readonly page: Page<TemplateRow>;
}

/** The templates of a workspace. */
export const TemplateList: FC<TemplateListProps> = ({ context, page }) => (
  <>
    <Heading title="Templates">
      <LinkButton href={context.to("/templates/new")} label="New template" kind="primary" />
    </Heading>
    <RowList
      context={context}
      path="/templates"
      label="Templates"
      page={page}
      empty={
        <Empty title="No templates yet">
          <p>
            A template is a mail with variables in it, written in Liquid. Create one, draft a version of it,
            preview it with sample values, and publish it: then sends can use it.
          </p>
          <LinkButton href={context.to("/templates/new")} label="Create the first one" />
        </Empty>
      }
      columns={[
        { title: "Name", cell: ({ name }) => <span class="clip">{name}</span> },
        { title: "Status", cell: ({ status }) => <Status status={status} /> },
        {
          title: "Alias",
          cell: ({ alias }) => (alias === null ? "" : <span class="clip short">{alias}</span>),
        },
        { title: "Changed", cell: ({ updatedAt }) => <Time at={updatedAt} />, isMinor: true },
        { title: "Created", cell: ({ createdAt }) => <Time at={createdAt} />, isMinor: true },
      ]}
    />
  </>
);

interface TemplateDetailProps {
  readonly context: PageContext;
  readonly id: string;
  /** The path of its page. */
  readonly at: string;
  readonly template: Template;
  readonly versions: Page<TemplateVersion>;
}

/** A template with its versions. */
export const TemplateDetail: FC<TemplateDetailProps> = (props) => {
  const { context, id, at, template } = props;
  const current = template.versions.find(({ id: versionId }) => versionId === template.currentVersionId);
  const tried = current ?? template.versions.at(-1);
  return (
    <>
      <Heading title={template.name} beside={<Status status={templateStatus(template)} />}>
        {template.isArchived ? null : (
          <>
            <LinkButton href={context.to(`${at}/draft`)} label="New draft" kind="primary" />
            {tried !== undefined && context.may("email:send") ? (
              <LinkButton href={context.to(`${at}/versions/${tried.id}/test-send`)} label="Test send" />
            ) : null}
            <LinkButton href={context.to(`${at}/rename`)} label="Rename" />
            <LinkButton href={context.to(`${at}/archive`)} label="Archive…" kind="danger" asks />
          </>
        )}
        <LinkButton href={context.to(`${at}/delete`)} label="Delete…" kind="danger" asks />
      </Heading>
      <Facts
        facts={[
          [
            "template_alias",
            template.alias === null ? null : <Copyable text={template.alias} label="the template's alias" />,
          ],
          ["template_id", <Copyable text={id} label="the template's id" />],
          [
            "Sends use",
            current === undefined ? (
              "nothing yet: publish a version"
            ) : (
              <a href={context.to(`${at}/versions/${current.id}`)}>version {current.number}</a>
            ),
          ],
          ["Created", <Time at={template.createdAt} />],
          ["Changed", <Time at={template.updatedAt} />],
        ]}
      />
      <section class="section" aria-labelledby="versions">
        <h2 id="versions">Versions</h2>
        <Versions {...props} />
      </section>
    </>
  );
};

const Versions: FC<TemplateDetailProps> = (props) => {
  const { context, at, template, versions } = props;
  const { shown, nextCursor } = versions;
  return shown.length === 0 ? (
    <Empty title="No version yet">
      <p>
        A version is the subject, the HTML, the text and the variables. It never changes once it is drafted.
      </p>
      {template.isArchived ? null : (
        <LinkButton href={context.to(`${at}/draft`)} label="Draft the first one" />
      )}
    </Empty>
  ) : (
    <>
      <RowTable
        label="Versions, the newest first"
        columns={[
          { title: "Version", cell: ({ number }) => `Version ${number}` },
          {
            title: "Status",
            cell: ({ id, publishedAt }) => (
              <>
                <Status status={publishedAt === null ? "draft" : "published"} />
                {id === template.currentVersionId ? <span class="soft"> · in use</span> : null}
              </>
            ),
          },
          { title: "Drafted", cell: ({ createdAt }) => <Time at={createdAt} />, isMinor: true },
          {
            title: "First published",
            cell: ({ publishedAt }) => (publishedAt === null ? "" : <Time at={publishedAt} />),
            isMinor: true,
          },
          { title: "Size", cell: ({ bytes }) => <Bytes bytes={bytes} />, isNumber: true },
        ]}
        rows={shown}
        idOf={({ id }) => id}
        linkOf={({ id }) => context.to(`${at}/versions/${id}`)}
      />
      <Pager context={context} path={at} nextCursor={nextCursor} />
      {shown.length < 2 ? null : <CompareForm {...props} />}
    </>
  );
};

/** Asks which two versions to compare: initially the one in use, or the previous one, with the newest. */
const CompareForm: FC<TemplateDetailProps> = ({ context, at, template, versions: { shown } }) => {
  const [newest, before] = shown;
  const current = shown.find(({ id }) => id === template.currentVersionId);
  const from = current === undefined || current === newest ? before : current;
  const options = shown.map(({ id, number }) => ({ value: id, label: `Version ${number}` }));
  return (
    <form method="get" action={context.to(`${at}/compare`)} class="compare">
      <Select name="from" label="Compare" value={from?.id ?? ""} options={options} />
      <Select name="to" label="with" value={newest?.id ?? ""} options={options} />
      <button type="submit">Show the differences</button>
    </form>
  );
};
