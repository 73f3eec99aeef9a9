/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { NOTE_CHARACTERS_MAX } from "../../../commands/suppression/addOrRemoveSuppression.ts";
import type { Suppression } from "../../../commands/suppression/readSuppression.ts";
import { SUPPRESSION_REASONS } from "../../../domain/suppression/events.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { LinkButton } from "../components/button.tsx";
import { EntryForm, Field, FilterForm, Select } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { CsvButton, Empty, RowList } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { formFields } from "../frame/formBody.ts";

interface SuppressionListProps {
  readonly context: PageContext;
  readonly page: RowPage<Suppression>;
  readonly filter: {
    readonly reason: string;
    /** The address to look up; "" for none. */
    readonly address: string;
    /** Its fault, as the end of a sentence; null without one. */
    readonly fault: string | null;
  };
  /** The faults of the form that adds an address, by field. */
  readonly faults: Readonly<Record<string, string>>;
}

const Filter: FC<Pick<SuppressionListProps, "context" | "filter">> = ({ context, filter }) => (
  <FilterForm action={context.to("/suppressions")} label="Find suppressions">
    <p class="field">
      <label for="find">Look up an address</label>
      <input
        id="find"
        name="address"
        type="search"
        value={filter.address}
        placeholder="ana@example.com"
        autocomplete="off"
        spellcheck={false}
        data-search
      />
    </p>
    <Select name="reason" label="Reason" value={filter.reason} none="Any" options={SUPPRESSION_REASONS} />
  </FilterForm>
);

const Add: FC<Pick<SuppressionListProps, "context" | "faults">> = ({ context, faults }) => {
  const field = formFields(context.form, faults);
  return (
    <section class="section card" id="add">
      <h2>Add an address</h2>
      <p class="soft">Mail to it is accepted and not sent: its status is “suppressed”.</p>
      <EntryForm context={context} action="/suppressions" verb="Add">
        <Field {...field("address")} label="Address" type="email" maxLength={320} isRequired />
        <Field
          {...field("note")}
          label="Note"
          hint="For your team: why nobody may write to it."
          maxLength={NOTE_CHARACTERS_MAX}
        />
      </EntryForm>
    </section>
  );
};

const Rows: FC<SuppressionListProps> = ({ context, page, filter }) => (
  <RowList
    context={context}
    path="/suppressions"
    rowsBelow={null}
    label="Suppressed addresses, newest first"
    page={page}
    filter={{ reason: filter.reason }}
    empty={nothingFound(filter)}
    columns={[
      {
        title: "Address",
        cell: ({ address }) =>
          address === null ? (
            <span class="soft">erased</span>
          ) : (
            <span class="clip" title={address}>
              {address}
            </span>
          ),
      },
      {
        title: "Reason",
        cell: ({ reason, emailId }) => (
          <>
            <Status status={reason} />{" "}
            {emailId !== null && context.may("email:status") ? (
              <a class="beside" href={context.to(`/messages/${emailId}`)}>
                the message
              </a>
            ) : null}
          </>
        ),
      },
      { title: "Note", cell: ({ note }) => <span class="wrap">{note ?? ""}</span>, isMinor: true },
      { title: "Since", cell: ({ createdAt }) => <Time at={createdAt} />, isMinor: true },
      {
        title: "",
        cell: ({ address }) =>
          address === null ? null : (
            <a
              class="button plain"
              href={context.to(`/suppressions/${encodeURIComponent(address)}/remove`)}
              data-dialog
              aria-label={`Remove ${address}`}
            >
              Remove…
            </a>
          ),
      },
    ]}
  />
);

function nothingFound(filter: SuppressionListProps["filter"]) {
  if (filter.fault !== null)
    return (
      <Empty title={`“${filter.address}” is no address`}>
        <p>The address {filter.fault}.</p>
      </Empty>
    );
  if (filter.address !== "")
    return (
      <Empty title={`${filter.address} is not suppressed`}>
        <p>Mail to it is sent.</p>
      </Empty>
    );
  return (
    <Empty title="No address is suppressed">
      <p>
        An address whose own server permanently refuses it is added here automatically, and gets no more mail.
      </p>
    </Empty>
  );
}

/** The list of suppressed addresses, with the forms that look one up and add one. */
export const SuppressionList: FC<SuppressionListProps> = (props) => (
  <>
    <Heading title="Suppressions">
      {props.filter.address === "" ? (
        <CsvButton
          context={props.context}
          path="/suppressions.csv"
          filter={{ reason: props.filter.reason }}
        />
      ) : null}
      <LinkButton href="#add" label="Add an address" />
    </Heading>
    <Filter context={props.context} filter={props.filter} />
    <Rows {...props} />
    <Add context={props.context} faults={props.faults} />
  </>
);
