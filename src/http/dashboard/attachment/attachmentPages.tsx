/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { ATTACHMENT_STATUSES } from "../../../domain/attachment/events.ts";
import { FILE_BYTES_MAX } from "../../../domain/attachment/fileSizeLimit.ts";
import { bytesText, grouped } from "../../../kernel/text/readableNumbers.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { attachmentJson } from "../../attachment/attachmentResource.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { LinkButton } from "../components/button.tsx";
import { Bytes } from "../components/bytes.tsx";
import { FilterForm, Select, UploadForm } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, Empty, type Fact, Facts, Pager, RowList } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import { MessageTable } from "../email/emailListPage.tsx";
import type { MessageRow } from "../email/loadEmailRows.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { sentence } from "../frame/formFaults.ts";

/** An upload as the API shows it. */
export type AttachmentJson = ReturnType<typeof attachmentJson>;

export const ATTACHMENTS_PATH = "/attachments";

interface AttachmentListProps {
  readonly context: PageContext;
  readonly page: RowPage<AttachmentJson>;
  /** The requested status; "" for all. */
  readonly status: string;
  /** A command that uploads a first file. */
  readonly firstCommand: string;
}

/** Uploads, newest first. */
export const AttachmentList: FC<AttachmentListProps> = (props) => {
  const { context, page, status } = props;
  return (
    <>
      <Heading title="Attachments">
        <LinkButton href="#file" label="Upload a file" />
      </Heading>
      <FilterForm action={context.to(ATTACHMENTS_PATH)} label="Find uploads">
        <Select name="status" label="Status" value={status} none="Any" options={ATTACHMENT_STATUSES} />
      </FilterForm>
      <RowList
        context={context}
        path={ATTACHMENTS_PATH}
        label="Uploads, newest first"
        page={page}
        filter={{ status }}
        empty={<NothingFound {...props} />}
        columns={[
          {
            title: "File",
            cell: ({ filename }) => <span class="clip">{filename ?? <i class="soft">name erased</i>}</span>,
          },
          { title: "Status", cell: ({ status }) => <Status status={status} /> },
          { title: "Size", cell: ({ size_bytes: bytes }) => <Bytes bytes={bytes} />, isNumber: true },
          { title: "Uploaded", cell: ({ created_at: at }) => <Time at={at} />, isMinor: true },
          { title: "Kept until", cell: ({ expires_at: at }) => <Time at={at} />, isMinor: true },
        ]}
      />
      <section class="section card" aria-labelledby="upload">
        <h2 id="upload">Upload a file</h2>
        <UploadForm
          context={context}
          action={ATTACHMENTS_PATH}
          label="File"
          hint={`At most ${FILE_BYTES_MAX / 1_000_000} MB. It is checked, and can then be named by its id in sends.`}
          verb="Upload"
        />
      </section>
    </>
  );
};

const NothingFound: FC<AttachmentListProps> = ({ context, status, firstCommand }) => {
  if (status !== "")
    return (
      <Empty title="No upload has this status">
        <p>
          <a href={context.to(ATTACHMENTS_PATH)}>Show all uploads</a>
        </p>
      </Empty>
    );
  return (
    <Empty title="Nothing is uploaded">
      <p>
        A file that goes into several messages is uploaded once, here or by a program, and named by its id:
      </p>
      <pre>{firstCommand}</pre>
      <p>A file for one message can go into the send itself.</p>
    </Empty>
  );
};

interface AttachmentPageProps {
  readonly context: PageContext;
  readonly attachment: AttachmentJson;
  /** Whether its bytes can be downloaded. */
  readonly hasBytes: boolean;
  /** The messages that were sent with it; null if the key may not read messages. */
  readonly uses: RowPage<MessageRow> | null;
  readonly now: EpochMs;
}

/** One upload: what it is, and which messages it went out with. */
export const AttachmentPage: FC<AttachmentPageProps> = (props) => {
  const { context, attachment, hasBytes, uses } = props;
  const at = context.to(`${ATTACHMENTS_PATH}/${attachment.id}`);
  const isThere = attachment.status === "pending" || attachment.status === "ready";
  return (
    <>
      <Heading
        title={attachment.filename ?? "Upload without a name"}
        beside={<Status status={attachment.status} />}
      >
        {hasBytes ? <LinkButton href={`${at}/file`} label="Download" /> : null}
        {isThere ? <LinkButton href={`${at}/delete`} label="Delete…" kind="danger" asks /> : null}
      </Heading>
      {attachment.rejection_reason === null ? null : (
        <section class="standing bad" aria-label="Why it cannot be sent">
          <div>
            <h2>It cannot be sent</h2>
            <p>{sentence(attachment.rejection_reason)}</p>
          </div>
        </section>
      )}
      <Facts facts={factsOf(attachment)} />
      {uses === null ? null : <Uses {...props} uses={uses} />}
    </>
  );
};

function factsOf(attachment: AttachmentJson): readonly Fact[] {
  const { id, content_type: type, size_bytes: bytes, sha256 } = attachment;
  return [
    ["Id", <Copyable text={id} label="the id" />],
    ["Type", type],
    ["Size", bytes < 1_000 ? bytesText(bytes) : `${bytesText(bytes)} (${grouped(bytes)} bytes)`],
    ["Uploaded", <Time at={attachment.created_at} />],
    ["Kept until", <Time at={attachment.expires_at} />],
    ["SHA-256", sha256 === null ? null : <Copyable text={sha256} label="the digest" />],
  ];
}

const Uses: FC<AttachmentPageProps & { readonly uses: RowPage<MessageRow> }> = ({
  context,
  attachment,
  uses: { shown: messages, nextCursor },
  now,
}) => (
  <section class="section" aria-labelledby="uses">
    <h2 id="uses">Messages with it</h2>
    {messages.length === 0 ? (
      <p class="soft">No message was sent with it.</p>
    ) : (
      <MessageTable
        context={context}
        label="Messages with this file, newest first"
        messages={messages}
        now={now}
      />
    )}
    <Pager context={context} path={`${ATTACHMENTS_PATH}/${attachment.id}`} nextCursor={nextCursor} />
    <p class="soft">Each message has its own copy, whatever happens to the upload.</p>
  </section>
);
