import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { deleteAttachment } from "../../commands/attachment/deleteAttachment.ts";
import { decodeFile } from "../../commands/attachment/fileFaults.ts";
import { readAttachment } from "../../commands/attachment/readAttachment.ts";
import {
  type UploadAttachment,
  type UploadOutcome,
  uploadAttachment,
} from "../../commands/attachment/uploadAttachment.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { DIRECT_MEMBERS } from "../../commands/email/send/resolveAttachments.ts";
import { FILE_BYTES_MAX } from "../../domain/attachment/fileSizeLimit.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { base64Bytes } from "../../kernel/text/base64.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { mediaTypeOf, requireIdentity } from "../body/bodyBytes.ts";
import { DirectAttachment, NoQuery } from "../body/commonSchemas.ts";
import { openFilePart } from "../body/multipartFile.ts";
import { checkBy } from "../body/validation.ts";
import { whenCaughtUp } from "../lists/caughtUpReads.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { authorize, authorizeThenRead, requireUsableKey } from "../server/authorization.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { found, idOfPath, invalid, Problem, refusedFor } from "../server/problem.ts";
import { bodyOf, commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { pageOfUploads } from "./attachmentHandlers.ts";
import { attachmentOperations } from "./attachmentOperations.ts";
import { attachmentJson } from "./attachmentResource.ts";
import { recheckKeyAfterUpload } from "./recheckKeyAfterUpload.ts";

/** Uploading files for sends, looking them up, and deleting them. */
export function attachmentsController(options: ControllerOptions) {
  const { deps, basePath, readModel } = options;
  const others = operationController(deps, attachmentOperations, {
    listAttachments: async ({ query, caller: { workspaceId } }) => {
      await whenCaughtUp(readModel("attachments"));
      const { status } = query;
      const wanted = { workspaceId, ...pageRequest(query), ...omitUndefined({ status }) };
      return pageJson(await pageOfUploads(options, wanted), (upload) => upload);
    },
    getAttachment: async ({ params, caller }) => {
      const id = idOfPath(params.id);
      return attachmentJson(id, found(await readAttachment(deps, caller.workspaceId, id)));
    },
    deleteAttachment: async ({ params, caller }) => {
      found(await deleteAttachment(deps, idOfPath(params.id), caller.commandContext()));
    },
  });
  return new Elysia({ normalize: false }).use(others).post(
    routes.uploadAttachment.path,
    async ({ body, request, set }) => {
      const { workspaceId } = principalOf(request);
      const file = isForm(request.headers) ? await openFilePart(request, bodyOf(request)) : fileOf(body);
      try {
        const chunks = recheckKeyAfterUpload(file.chunks, () => requireUsableKey(deps, request));
        const upload = { ...file, chunks, workspaceId, context: commandContextOf(request, deps) };
        const outcome = await uploadAttachment(deps, upload);
        if (outcome.kind === "refused") throw refusal(outcome, isForm(request.headers));
        set.status = 201;
        set.headers.location = `${basePath}/api/v1/attachments/${outcome.id}`;
        return attachmentJson(outcome.id, outcome.attachment);
      } finally {
        await file.close();
      }
    },
    { parse: readUpload(deps), query: NoQuery },
  );
}

function isForm(headers: Headers): boolean {
  return mediaTypeOf(headers) === "multipart/form-data";
}

/** Runs the checks that come before a body, then reads a JSON body whole; a form is left to arrive piece by piece. */
function readUpload(deps: Dependencies) {
  const checkHeaders = (headers: Headers) => {
    if (mediaTypeOf(headers) === "application/json") return;
    throw invalid("/Content-Type", "must be multipart/form-data or application/json");
  };
  const readJson = authorizeThenRead(deps, routes.uploadAttachment, { checkHeaders });
  const check = authorize(deps, routes.uploadAttachment);
  return async ({ request }: { request: Request }) => {
    if (!isForm(request.headers)) return readJson(request);
    await check(request);
    requireIdentity(request.headers);
    return null;
  };
}

/** The pointer of a fault: a form has one part for the whole file, a JSON body has several members. */
function refusal(
  { code, message, member, isPermanent = false }: Omit<Extract<UploadOutcome, { kind: "refused" }>, "kind">,
  isOfForm: boolean,
): Problem {
  if (member === null) return new Problem(code, { detail: message, isPermanent });
  if (!isOfForm) return refusedFor(code, [{ pointer: `/${DIRECT_MEMBERS[member]}`, message }]);
  const hint = member === "contentType" ? ", or left out in a form" : "";
  return refusedFor(code, [{ pointer: "/file", message: `${message}${hint}` }]);
}

const checkDirect = checkBy(DirectAttachment);

/** The file in a JSON body. Checks its length before decoding it. */
function fileOf(body: unknown): Pick<UploadAttachment, "filename" | "contentType" | "chunks"> & {
  close(): Promise<void>;
} {
  checkDirect(body);
  const { filename, content_type: contentType, content } = body as Static<typeof DirectAttachment>;
  if (base64Bytes(content) > FILE_BYTES_MAX) {
    const message = `is over ${grouped(FILE_BYTES_MAX)} bytes`;
    throw refusedFor("ATTACHMENT_LIMIT_EXCEEDED", [{ pointer: "/content", message }]);
  }
  const bytes = decodeFile(content);
  if ("code" in bytes) throw refusal(bytes, false);
  return { filename, contentType, chunks: [bytes], close: async () => {} };
}
