/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { SHOWN_NAME_CHARACTERS_MAX } from "../../../kernel/text/displayNameFault.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../../kernel/text/emailAddress.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import type { senderJson } from "../../sender/senderResource.ts";
import { LinkButton } from "../components/button.tsx";
import { EntryForm, Field } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Empty, RowList } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { formFields } from "../frame/formBody.ts";
import type { FormFaults } from "../frame/formFaults.ts";

/** A sender as the API shows it. */
export type SenderJson = ReturnType<typeof senderJson>;

interface SenderListProps {
  readonly context: PageContext;
  readonly page: RowPage<SenderJson>;
  readonly faults: FormFaults | null;
}

export function nameOf({ address, domain }: Pick<SenderJson, "address" | "domain">): string {
  return address ?? domain ?? "";
}

export const SenderStatus: FC<{ readonly sender: SenderJson }> = ({ sender }) => {
  const { status, record_missing_since: missing, verification } = sender;
  if (status === "verified" && missing !== null)
    return <Status status="warning" label="verified, its record is missing" />;
  if (status === "unverified" && verification !== null)
    return <Status status="pending" label="waits for its owner" />;
  return <Status status={status} />;
};

export const SenderList: FC<SenderListProps> = ({ context, page, faults }) => (
  <>
    <Heading title="Senders">
      <LinkButton href="#add" label="Add a sender" />
    </Heading>
    <RowList
      context={context}
      path="/senders"
      label="Senders, newest first"
      page={page}
      empty={
        <Empty title="There is no sender yet">
          <p>
            Mail can be sent from an address or a domain once it is verified. Add one below: an address is
            verified by a link that is mailed to it, a domain by a DNS record.
          </p>
        </Empty>
      }
      columns={[
        { title: "Address or domain", cell: (sender) => <span class="clip">{nameOf(sender)}</span> },
        { title: "Status", cell: (sender) => <SenderStatus sender={sender} /> },
        {
          title: "Display name",
          cell: (sender) => <span class="clip short">{sender.display_name ?? ""}</span>,
          isMinor: true,
        },
        { title: "Added", cell: (sender) => <Time at={sender.created_at} />, isMinor: true },
      ]}
    />
    <Add context={context} faults={faults} />
  </>
);

const Add: FC<Pick<SenderListProps, "context" | "faults">> = ({ context, faults }) => {
  const field = formFields(context.form, faults?.fields);
  return (
    <section class="section card" id="add">
      <h2>Add an address or a domain</h2>
      <p class="soft">A verified domain lets you send from every address at it, but not at its subdomains.</p>
      <EntryForm context={context} action="/senders" refusal={faults?.whole} verb="Add">
        <Field
          {...field("name")}
          label="Address or domain"
          placeholder="billing@example.com or example.com"
          maxLength={ADDRESS_CHARACTERS_MAX}
          isRequired
        />
        <Field
          {...field("display_name")}
          label="Display name"
          hint="Shown beside the address in From. A domain's name is used for its addresses that have none."
          maxLength={SHOWN_NAME_CHARACTERS_MAX}
        />
      </EntryForm>
    </section>
  );
};
