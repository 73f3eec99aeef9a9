/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { MailRecordFinding } from "../../../commands/sender/mailDnsRecords.ts";
import { Heading } from "../components/heading.tsx";
import { Status, type Tone } from "../components/status.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { sentence } from "../frame/formFaults.ts";

/** The id of the part that a sender's page loads from here. */
const PART_ID = "mail-records";

/** A placeholder on a sender's page until a script loads the records, which needs a DNS look-up. */
export const MailRecordsToCome: FC<{ readonly context: PageContext; readonly senderId: string }> = ({
  context,
  senderId,
}) => {
  const at = context.to(`/senders/${senderId}/records`);
  return (
    <section
      id={PART_ID}
      class="section card"
      hx-get={at}
      hx-select={`#${PART_ID}`}
      hx-trigger="load"
      hx-target="this"
      hx-swap="outerHTML"
    >
      <h2>What receivers look up</h2>
      <p class="soft">
        <a href={at}>Look up SPF, DKIM and DMARC</a>
      </p>
    </section>
  );
};

interface MailRecordsProps {
  readonly domain: string;
  readonly findings: readonly MailRecordFinding[];
}

const STATES: Readonly<Record<MailRecordFinding["status"], { readonly label: string; readonly tone: Tone }>> =
  {
    ok: { label: "found", tone: "good" },
    missing: { label: "missing", tone: "waiting" },
    wrong: { label: "wrong", tone: "bad" },
    unknown: { label: "not known", tone: "quiet" },
  };

/** The DNS records of a domain by which receivers authenticate its mail. */
export const MailRecordsPage: FC<MailRecordsProps> = ({ domain, findings }) => (
  <>
    <Heading title={`Mail records of ${domain}`} />
    <section id={PART_ID} class="section card">
      <h2>What receivers look up</h2>
      <dl class="facts">
        {findings.map(({ kind, name, status, detail }) => (
          <div>
            <dt>{kind}</dt>
            <dd>
              <Status status={status} {...STATES[status]} /> <code class="soft">{name}</code>
              <p class="soft details">{status === "ok" ? detail : sentence(detail)}</p>
            </dd>
          </div>
        ))}
      </dl>
      {findings.some(({ kind }) => kind === "DKIM") ? null : (
        <p class="hint">
          DKIM was not looked up: this service signs nothing for the domain. Your relay may sign with its own
          key: ask it which record that needs.
        </p>
      )}
    </section>
  </>
);
