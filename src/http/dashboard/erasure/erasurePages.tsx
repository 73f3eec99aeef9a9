/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { REFERENCE_CHARACTERS_MAX } from "../../../domain/erasure/referenceFault.ts";
import { capitalized } from "../../../kernel/text/capitalized.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../../kernel/text/emailAddress.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import type { erasureJson } from "../../erasure/erasureResource.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { AuditTabs } from "../audit/auditTabs.tsx";
import { LinkButton } from "../components/button.tsx";
import { EntryForm, Field } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Empty, type Fact, Facts, RowList } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { formFields } from "../frame/formBody.ts";
import type { FormFaults } from "../frame/formFaults.ts";
import { reloadedFrom } from "../live/liveIndicator.tsx";

/** A request as the API shows it. */
export type ErasureJson = ReturnType<typeof erasureJson>;

export const ERASURES_PATH = "/audit/erasures";

const ErasureStatus: FC<Pick<ErasureJson, "status">> = ({ status }) => (
  <Status status={status} label={status === "applied" ? "applied; can no longer be read" : status} />
);

interface ErasureListProps {
  readonly context: PageContext;
  readonly page: RowPage<ErasureJson>;
}

/** Requests to erase people, newest first. */
export const ErasureList: FC<ErasureListProps> = ({ context, page }) => (
  <>
    <Heading title="Erasures">
      <LinkButton href={context.to(`${ERASURES_PATH}/new`)} label="Erase a person…" kind="danger" />
    </Heading>
    <AuditTabs context={context} path={ERASURES_PATH} />
    <RowList
      context={context}
      path={ERASURES_PATH}
      label="Requests to erase a person, newest first"
      page={page}
      empty={
        <Empty title="Nobody was erased">
          <p>
            Somebody may ask you to erase what you keep about them. Ask for it here: it erases the content of
            all messages to their address, and reports what it has reached and what it has not.
          </p>
        </Empty>
      }
      columns={[
        { title: "Asked for", cell: ({ created_at: at }) => <Time at={at} /> },
        { title: "Reference", cell: ({ reference }) => reference ?? "" },
        { title: "Status", cell: ({ status }) => <ErasureStatus status={status} /> },
        {
          title: "Messages erased",
          cell: ({ report }) => (report === null ? "" : grouped(report.messages_erased)),
          isNumber: true,
          isMinor: true,
        },
        { title: "Completed", cell: ({ completed_at: at }) => (at ? <Time at={at} /> : ""), isMinor: true },
      ]}
    />
  </>
);

interface NewErasureProps {
  readonly context: PageContext;
  readonly faults: FormFaults | null;
}

/** The form that requests an erasure; it is also its confirmation. */
export const NewErasure: FC<NewErasureProps> = ({ context, faults }) => {
  const field = formFields(context.form, faults?.fields);
  return (
    <>
      <Heading title="Erase a person" />
      <p>
        Everything that this workspace has sent to the address until now is erased: addresses, subjects,
        bodies and files of the messages, uploads that nobody else was sent, and the address of a suppression.
        Messages that wait are canceled. <strong>This cannot be undone.</strong>
      </p>
      <p>
        Suppressions stay in force, and Idempotency-Keys keep answering: both by a keyed hash. The erasure
        does not reach backups and exports, what relays and endpoints have received, or messages to others
        that name the person.
      </p>
      <EntryForm
        context={context}
        action={`${ERASURES_PATH}/new`}
        refusal={faults?.whole}
        verb="Erase for good"
        cancelTo={ERASURES_PATH}
        isDangerous
      >
        <Field
          {...field("address")}
          label="The person's address"
          type="email"
          hint="It is not kept: the request holds a keyed hash of it."
          maxLength={ADDRESS_CHARACTERS_MAX}
          isRequired
        />
        <Field
          {...field("reference")}
          label="Reference (optional)"
          hint="A ticket number, say. It is kept for good, so it must not name the person."
          maxLength={REFERENCE_CHARACTERS_MAX}
        />
      </EntryForm>
    </>
  );
};

type Report = NonNullable<ErasureJson["report"]>;

/** One request and its report; follows the work until it is done. */
export const ErasurePage: FC<{ readonly context: PageContext; readonly erasure: ErasureJson }> = ({
  context,
  erasure,
}) => {
  const { id, status, reference, report, created_at: createdAt, completed_at: completedAt } = erasure;
  const follows =
    status === "completed" ? {} : reloadedFrom(context.to(`${ERASURES_PATH}/${id}`), "every 2s");
  return (
    <div id="erasure" class="parts" {...follows}>
      <Heading title="Erasure of a person" beside={<ErasureStatus status={status} />} />
      <Facts
        facts={[
          ["Reference", reference],
          ["Asked for", <Time at={createdAt} />],
          ["Completed", completedAt === null ? "not yet" : <Time at={completedAt} />],
          ["Id", <Copyable text={id} label="the id" />],
        ]}
      />
      {report === null ? (
        <p class="soft">The service is looking for everything about the person. This page updates itself.</p>
      ) : (
        <ErasureReport context={context} report={report} />
      )}
    </div>
  );
};

const ErasureReport: FC<{ readonly context: PageContext; readonly report: Report }> = ({
  context,
  report,
}) => (
  <>
    <section class="section" aria-labelledby="erased">
      <h2 id="erased">What was erased</h2>
      <Facts
        facts={[
          ["Messages", erasedText(report)],
          ["Messages with files", anyOf(report.messages_with_files)],
          ["Outbox files", anyOf(report.outbox_messages)],
          ["Uploads", anyOf(report.uploads_erased)],
          ["Addresses of suppressions, which stay in force", anyOf(report.suppressions_erased)],
        ]}
      />
    </section>
    <section class="section" aria-labelledby="remains">
      <h2 id="remains">What remains</h2>
      <Facts facts={remainsOf(context, report)} />
    </section>
  </>
);

/** The count, or null to leave out the line if it is 0. */
function anyOf(count: number): string | null {
  return count === 0 ? null : grouped(count);
}

function erasedText(report: Report): string {
  const before = report.messages_erased_before;
  return [
    grouped(report.messages_erased),
    ...(report.messages_canceled === 0 ? [] : [`${grouped(report.messages_canceled)} of them canceled`]),
    ...(before === 0 ? [] : [`${grouped(before)} more were erased before`]),
  ].join(", ");
}

function remainsOf(context: PageContext, report: Report): readonly Fact[] {
  const { uploads_kept: kept, remains, copies } = report;
  return [
    [
      "Uploads that others were sent too",
      kept.length === 0
        ? null
        : kept.map((id) => (
            <div>
              {context.may("attachment:manage") ? (
                <a href={context.to(`/attachments/${id}`)}>
                  <code>{id}</code>
                </a>
              ) : (
                <code>{id}</code>
              )}
            </div>
          )),
    ],
    [
      "On the service's disks",
      remains === null
        ? "It is being checked."
        : remains.length === 0
          ? "Nothing."
          : remains.map((text) => <div>{text}</div>),
    ],
    [
      "In copies of the log",
      copies === null ? (
        "It is being checked."
      ) : copies.length === 0 ? (
        "None was taken before."
      ) : (
        <ul class="links">
          {copies.map(({ kind, taken_at: at }) => (
            <li>
              The {kind} of <Time at={at} />: delete it in time
            </li>
          ))}
        </ul>
      ),
    ],
    ...report.not_reached.map(
      ({ what, detail }) => [capitalized(what.replaceAll("_", " ")), detail] as const,
    ),
  ];
}
