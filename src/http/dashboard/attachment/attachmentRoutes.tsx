/** @jsxImportSource hono/jsx */
import { messagesWithUpload } from "../../../../projections/attachmentUse.ts";
import { deleteAttachment } from "../../../commands/attachment/deleteAttachment.ts";
import { readAttachment, uploadFolder } from "../../../commands/attachment/readAttachment.ts";
import { uploadAttachment } from "../../../commands/attachment/uploadAttachment.ts";
import { ATTACHMENT_STATUSES } from "../../../domain/attachment/events.ts";
import { type Attachment, isRejectedOrExpired } from "../../../domain/attachment/state.ts";
import { pageOfUploads } from "../../attachment/attachmentHandlers.ts";
import { attachmentJson } from "../../attachment/attachmentResource.ts";
import { recheckKeyAfterUpload } from "../../attachment/recheckKeyAfterUpload.ts";
import { requireIdentity } from "../../body/bodyBytes.ts";
import { openFilePart } from "../../body/multipartFile.ts";
import { catchUpIfInTime, scheduledRead } from "../../lists/caughtUpReads.ts";
import { pageOf } from "../../lists/cursorPaging.ts";
import { found, idOfPath, Problem } from "../../server/problem.ts";
import { bodyOf, withRoomFor } from "../../server/requestContext.ts";
import { asksFirst, type Confirmation } from "../components/confirmationPage.tsx";
import { downloadResponse } from "../components/downloadResponse.ts";
import { catchUp, messagesOf } from "../email/loadEmailRows.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { sentence } from "../frame/formFaults.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { ATTACHMENTS_PATH, AttachmentList, AttachmentPage } from "./attachmentPages.tsx";

/** Messages per page below an upload. */
const MESSAGES_SHOWN = 25;
const ONE = `${ATTACHMENTS_PATH}/:id`;
const ABOVE = [{ path: ATTACHMENTS_PATH, title: "Attachments" }];

type Options = Pick<DashboardOptions, "deps" | "readModel" | "url">;

/** Uploads: their state, their bytes, and the messages that use them. */
export function attachmentRoutes(options: Options): readonly DashboardRoute[] {
  return [
    get(ATTACHMENTS_PATH, "attachment:manage", (context) => listPage(options, context)),
    {
      ...post(ATTACHMENTS_PATH, "attachment:manage", (context) => upload(options, context)),
      takesFile: true,
    },
    get(ONE, "attachment:manage", (context) => attachmentPage(options, context)),
    get(`${ONE}/file`, "attachment:manage", (context) => fileOf(options, context)),
    ...asksFirst(
      `${ONE}/delete`,
      "attachment:manage",
      async (context) => deletion(await uploadOf(options, context)),
      async (context) => {
        const { id, upload } = await uploadOf(options, context);
        await deleteAttachment(options.deps, id, context.commandContext());
        await catchUpIfInTime(options.readModel("attachments"));
        return context.seeOther(ATTACHMENTS_PATH, `${upload.filename ?? "The upload"} was deleted.`);
      },
    ),
  ];
}

/** Uploads a file. Browsers send their system's media types, so we take the type from the file's extension. */
async function upload({ deps, readModel }: Options, context: PageContext): Promise<Response> {
  const { request, workspaceId } = context;
  requireIdentity(request.headers);
  const file = await openFilePart(request, bodyOf(request));
  try {
    const { filename } = file;
    const chunks = recheckKeyAfterUpload(file.chunks, context.requireSession);
    const outcome = await uploadAttachment(deps, {
      ...{ workspaceId, filename, contentType: null, chunks },
      context: context.commandContext(),
    });
    if (outcome.kind === "refused")
      return context.seeOther(ATTACHMENTS_PATH, `It was not accepted: ${sentence(outcome.message)}`);
    await catchUpIfInTime(readModel("attachments"));
    return context.seeOther(
      `${ATTACHMENTS_PATH}/${outcome.id}`,
      "The file was uploaded, and is being checked.",
    );
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error;
    return context.seeOther(ATTACHMENTS_PATH, `It was not accepted: ${sentence(error.message)}`);
  } finally {
    await file.close();
  }
}

interface Upload {
  readonly id: string;
  readonly upload: Attachment;
}

/** The upload in the path. Throws if the workspace has none with this id. */
async function uploadOf({ deps }: Options, { workspaceId, params }: PageContext): Promise<Upload> {
  const id = idOfPath(params.id);
  return { id, upload: found(await readAttachment(deps, workspaceId, id)) };
}

async function listPage(options: Options, context: PageContext): Promise<Page> {
  const { workspaceId, query } = context;
  const status = ATTACHMENT_STATUSES.find((one) => one === query.get("status"));
  if (!query.has("cursor")) await catchUp(options.readModel("attachments"));
  const wanted = {
    workspaceId,
    ...(status === undefined ? {} : { status }),
    ...pageAsked(context),
  };
  const page = await pageOfUploads(options, wanted);
  return {
    title: "Attachments",
    body: (
      <AttachmentList
        context={context}
        page={page}
        status={status ?? ""}
        firstCommand={uploadCommand(options.url)}
      />
    ),
  };
}

function uploadCommand(url: URL): string {
  return [
    `curl ${url.href.replace(/\/$/, "")}/api/v1/attachments \\`,
    '  -H "Authorization: Bearer $POSTLEDGER_API_KEY" \\',
    "  -F file=@invoice.pdf",
  ].join("\n");
}

async function attachmentPage(options: Options, context: PageContext): Promise<Page> {
  const { id, upload } = await uploadOf(options, context);
  const uses = context.may("email:status") ? await messagesWith(options, context, id) : null;
  return {
    title: upload.filename ?? "Upload",
    above: ABOVE,
    body: (
      <AttachmentPage
        context={context}
        attachment={attachmentJson(id, upload)}
        hasBytes={!isRejectedOrExpired(upload)}
        uses={uses}
        now={options.deps.clock.now()}
      />
    ),
  };
}

async function messagesWith(options: Options, context: PageContext, id: string) {
  const model = options.readModel("attachment-use");
  if (!context.query.has("cursor")) await catchUp(model);
  const request = pageAsked(context, { limit: MESSAGES_SHOWN });
  const { shown, nextCursor } = await scheduledRead(model, (db) =>
    pageOf(request, (page) => messagesWithUpload(db, { uploadId: id, ...page })),
  );
  const ids = shown.map((row) => row.id);
  return { shown: await messagesOf(options, context.principal, ids), nextCursor };
}

/** Answers with the bytes of an upload as a download; nothing in them is shown or run. */
async function fileOf(options: Options, context: PageContext): Promise<Response> {
  const { id, upload } = await uploadOf(options, context);
  const { sha256, filename, contentType } = upload;
  const isThere = !isRejectedOrExpired(upload) && sha256 !== null && filename !== null;
  const read = (sha: string) => options.deps.content.get(uploadFolder(context.workspaceId, id), sha);
  const bytes = isThere ? await withRoomFor(context.request, upload.bytes, () => read(sha256)) : null;
  if (bytes === null || filename === null) throw new Problem("NOT_FOUND", { detail: "the file is gone" });
  return downloadResponse(new Uint8Array(bytes), filename, contentType);
}

function deletion({ id, upload }: Upload): Confirmation {
  const name = upload.filename ?? "the upload";
  return {
    title: `Delete ${name}`,
    above: [...ABOVE, { path: `${ATTACHMENTS_PATH}/${id}`, title: name }],
    verb: "Delete",
    isDangerous: true,
    text: (
      <p>
        Sends that name it are refused from now on. Messages that were accepted with it keep their copy. This
        cannot be undone.
      </p>
    ),
  };
}
