/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { VerificationRequest } from "../../../domain/sender/state.ts";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { SHOWN_NAME_CHARACTERS_MAX } from "../../../kernel/text/displayNameFault.ts";
import { ActionButton, LinkButton } from "../components/button.tsx";
import { EntryForm, Field, Refusal } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Facts } from "../components/list.tsx";
import { Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { formFields } from "../frame/formBody.ts";
import type { FormFaults } from "../frame/formFaults.ts";
import { MailRecordsToCome } from "./mailDnsRecordsPage.tsx";
import { nameOf, type SenderJson, SenderStatus } from "./senderListPage.tsx";

interface SenderPageProps {
  readonly context: PageContext;
  readonly sender: SenderJson;
  /** The state of the newest verification mail; null if there is none. */
  readonly mail: VerificationRequest["mail"] | null;
  /** Whether this service can mail verification links. */
  readonly mailsLinks: boolean;
  readonly faults: FormFaults | null;
}

const VERIFIED_BY: Readonly<Record<string, string>> = {
  operator: "whoever runs the service",
  bootstrap: "the service's first start",
  email: "a link that was mailed to it",
  dns: "its DNS record",
};

/** One sender: its state, how it is verified, and what can be changed. */
export const SenderPage: FC<SenderPageProps> = (props) => {
  const { context, sender, faults } = props;
  return (
    <>
      <Heading title={nameOf(sender)} beside={<SenderStatus sender={sender} />}>
        <Switch context={context} sender={sender} />
      </Heading>
      <Refusal text={faults?.whole} />
      {sender.kind === "domain" ? (
        <DnsRecord context={context} sender={sender} />
      ) : (
        <MailVerification context={context} sender={sender} mail={props.mail} mailsLinks={props.mailsLinks} />
      )}
      <MailRecordsToCome context={context} senderId={sender.id} />
      <DisplayName {...props} />
      <section class="section">
        <h2>About it</h2>
        <Facts
          facts={[
            ["Verified by", sender.verified_by === null ? "nobody yet" : VERIFIED_BY[sender.verified_by]],
            ["Added", <Time at={sender.created_at} />],
            ["Last changed", <Time at={sender.updated_at} />],
            ["Id", <Copyable text={sender.id} label="the id" />],
          ]}
        />
      </section>
    </>
  );
};

const Switch: FC<Pick<SenderPageProps, "context" | "sender">> = ({ context, sender: { id, status } }) =>
  status === "disabled" ? (
    <ActionButton context={context} action={`/senders/${id}/enable`} verb="Enable" />
  ) : (
    <LinkButton href={context.to(`/senders/${id}/disable`)} label="Disable…" kind="danger" asks />
  );

interface VerifyProps {
  readonly context: PageContext;
  readonly id: string;
  readonly verb: string;
}

const Verify: FC<VerifyProps> = ({ context, id, verb }) => (
  <ActionButton context={context} action={`/senders/${id}/verify`} verb={verb} kind="primary" />
);

const DnsRecord: FC<Pick<SenderPageProps, "context" | "sender">> = ({ context, sender }) => (
  <section class="section card">
    <h2>DNS record</h2>
    <p>{recordSentence(sender)}</p>
    {sender.dns_record === null ? null : (
      <Facts
        facts={[
          ["Type", <code>{sender.dns_record.type}</code>],
          ["Name", <Copyable text={sender.dns_record.name} label="the record's name" />],
          ["Value", <Copyable text={sender.dns_record.value} label="the record's value" />],
        ]}
      />
    )}
    {sender.verified_by === null ? (
      <>
        <Verify context={context} id={sender.id} verb="Verify now" />
        <p class="hint">
          A new record is usually seen within minutes. Some providers add the domain to the name by
          themselves: then leave it out.
        </p>
      </>
    ) : null}
  </section>
);

function recordSentence({ verified_by: verifiedBy, record_missing_since: missing }: SenderJson) {
  if (missing !== null)
    return (
      <>
        The record has been missing since <Time at={missing} />. You can still send, but publish it again.
      </>
    );
  if (verifiedBy === "dns")
    return "The record was found. Leave it in place: it is checked again from time to time.";
  if (verifiedBy !== null) return "The domain is verified without its record.";
  return "Publish this record where the domain's DNS is kept, then verify the domain.";
}

const MailVerification: FC<Pick<SenderPageProps, "context" | "sender" | "mail" | "mailsLinks">> = ({
  context,
  sender,
  mail,
  mailsLinks,
}) => {
  if (sender.verified_by !== null) return null;
  const { verification } = sender;
  return (
    <section class="section card">
      <h2>Verification</h2>
      {verification === null ? (
        <p>Mail a link to the address: whoever reads its mail opens the link and confirms it.</p>
      ) : (
        <PendingMail verification={verification} mail={mail} />
      )}
      {mailsLinks ? (
        <Verify
          context={context}
          id={sender.id}
          verb={verification === null ? "Mail a link" : "Mail another link"}
        />
      ) : (
        <>
          <p>
            This service has no address to mail links from. Whoever runs it sets{" "}
            <code>VERIFICATION_FROM</code>, or verifies the address with this command:
          </p>
          <Copyable
            text={`${POSTLEDGER} sender verify ${nameOf(sender)} --workspace ${context.workspaceId}`}
            label="the command"
          />
        </>
      )}
    </section>
  );
};

const MAIL_STATES = {
  waiting: "waits to be sent",
  claimed: "is being sent",
  sent: "was sent",
  failed: "could not be sent",
} as const;

const PendingMail: FC<{
  readonly verification: NonNullable<SenderJson["verification"]>;
  readonly mail: SenderPageProps["mail"];
}> = ({ verification, mail }) => (
  <>
    <p>
      The mail with the link {MAIL_STATES[mail ?? "waiting"]}. It holds this code, and so does the page that
      the link opens. Its reader should confirm only if the codes match.
    </p>
    <p class="code-to-compare">{verification.code}</p>
    <Facts
      facts={[
        ["Asked for", <Time at={verification.requested_at} />],
        ["Link ends", <Time at={verification.expires_at} />],
      ]}
    />
  </>
);

const DisplayName: FC<SenderPageProps> = ({ context, sender, faults }) => (
  <section class="section card">
    <h2>Display name</h2>
    <EntryForm context={context} action={`/senders/${sender.id}/display-name`} verb="Save">
      <Field
        {...formFields(context.form, faults?.fields)("display_name", sender.display_name ?? "")}
        label="Name"
        hint={
          sender.kind === "domain"
            ? "Shown in From beside every address at the domain without a name of its own. Empty: none."
            : "Shown beside the address in From. Empty: the domain's name, if the domain has one and covers the address."
        }
        maxLength={SHOWN_NAME_CHARACTERS_MAX}
      />
    </EntryForm>
  </section>
);
