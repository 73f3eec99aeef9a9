/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import type { ShownEmail } from "../../email/redactEmail.ts";
import { RowTable } from "../components/list.tsx";
import { SandboxedHtmlFrame } from "../components/sandboxedHtmlFrame.tsx";
import { addressOf } from "./emailPage.tsx";

interface FrameProps {
  /** The address of the message's page. */
  readonly at: string;
  readonly isPhoneWide: boolean;
}

/** The message as a mail client shows it: in a frame of its own that runs and loads nothing, at two widths. */
export const HtmlPart: FC<FrameProps> = ({ at, isPhoneWide }) => (
  <div class="preview">
    <p class="widths">
      <a href={addressOf(at, "html")} aria-current={isPhoneWide ? undefined : "true"}>
        Desktop
      </a>
      <a href={`${addressOf(at, "html")}&width=phone`} aria-current={isPhoneWide ? "true" : undefined}>
        Phone
      </a>
      <span class="soft">
        Nothing is loaded from elsewhere: images that are not in the mail are not shown.
      </span>
    </p>
    <SandboxedHtmlFrame src={`${at}/body.html`} title="The HTML of the message" isPhoneWide={isPhoneWide} />
  </div>
);

export const TextPart: FC<{ readonly text: string }> = ({ text }) => <pre class="paper">{text}</pre>;

/** The headers as a relay gets them. `mime` is null if a file of the message is gone. */
export const HeadersPart: FC<{ readonly mime: Uint8Array | null }> = ({ mime }) => {
  // The boundary of the parts depends on the bytes of the files.
  if (mime === null)
    return <p class="soft">A file of the message is gone, so the headers cannot be shown as they were.</p>;
  const text = new TextDecoder().decode(mime.subarray(0, HEADER_BYTES_MAX));
  return <pre class="paper">{text.slice(0, text.indexOf("\r\n\r\n"))}</pre>;
};

/** More than the headers of our messages can take. */
const HEADER_BYTES_MAX = 65_536;

export const FilesPart: FC<{ readonly at: string; readonly view: ShownEmail }> = ({ at, view }) => {
  const { attachmentsExpired } = view.email;
  const files = (view.content?.attachments ?? []).map((file, index) => ({ ...file, index }));
  return (
    <>
      <RowTable
        label="Attachments"
        rows={files}
        linkOf={
          attachmentsExpired || !view.isContentShown ? undefined : ({ index }) => `${at}/files/${index}`
        }
        columns={[
          {
            title: "Name",
            cell: ({ filename }) => <span class="wrap">{filename ?? <i class="soft">not shown</i>}</span>,
          },
          { title: "Type", cell: ({ contentType }) => contentType },
          { title: "Bytes", cell: ({ bytes }) => grouped(bytes), isNumber: true },
        ]}
      />
      {attachmentsExpired ? <p class="soft">Their bytes have expired.</p> : null}
    </>
  );
};
