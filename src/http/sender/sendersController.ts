import { Elysia } from "elysia";
import type { Dependencies } from "../../commands/dependencies.ts";
import {
  confirmVerificationLink,
  readVerificationLink,
} from "../../commands/sender/confirmVerificationLink.ts";
import type { SenderView } from "../../commands/sender/readSender.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { requestContextOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { addedSender } from "./addSenderRequest.ts";
import { addOrRenameSender, existingSender, pageOfSenders, switchedSender } from "./senderHandlers.ts";
import { senderOperations } from "./senderOperations.ts";
import { senderJson } from "./senderResource.ts";
import { verificationLinkPage } from "./verificationLinkPage.ts";
import type { SenderVerification } from "./verifySender.ts";

interface SendersOptions extends ControllerOptions {
  readonly verification: SenderVerification;
}

/** Adding, listing, verifying, disabling and enabling senders. */
export function sendersController(options: SendersOptions) {
  const { deps, basePath, verification } = options;
  const json = (view: SenderView) => senderJson(deps, view);
  return operationController(deps, senderOperations, {
    addSender: async ({ body, caller: { workspaceId, commandContext }, set }) => {
      const sender = { workspaceId, ...addedSender(body) };
      const added = await addOrRenameSender(options, sender, commandContext());
      if (added.outcome !== "added") set.status = 200;
      set.headers.location = `${basePath}/api/v1/senders/${added.id}`;
      return json(await existingSender(deps, workspaceId, added.id));
    },
    listSenders: async ({ query, caller }) =>
      pageJson(await pageOfSenders(options, caller.workspaceId, pageRequest(query)), json),
    getSender: async ({ params, caller }) => json(await existingSender(deps, caller.workspaceId, params.id)),
    requestSenderVerification: async ({ body, params, caller: { workspaceId, commandContext } }) => {
      const view = await existingSender(deps, workspaceId, params.id);
      await verification.verify(body.method, view, commandContext());
      return json(await existingSender(deps, workspaceId, view.id));
    },
    disableSender: async ({ params, caller }) =>
      json(await switchedSender(deps, params.id, "disabled", caller.commandContext())),
    enableSender: async ({ params, caller }) =>
      json(await switchedSender(deps, params.id, "enabled", caller.commandContext())),
  });
}

/** The pages behind a mailed link, which needs no key. */
export function senderPagesController(deps: Dependencies) {
  return new Elysia({ normalize: false })
    .get(routes.showSenderVerification.path, async ({ params, request }) => {
      const { status, requester } = await readVerificationLink(deps, params.token);
      return verificationLinkPage(status, requestContextOf(request).requestId, requester);
    })
    .post(
      routes.confirmSenderVerification.path,
      async ({ params, request }) => {
        const { requestId } = requestContextOf(request);
        const context = { at: deps.clock.now(), correlationId: requestId, actor: "verification-link" };
        return verificationLinkPage(await confirmVerificationLink(deps, params.token, context), requestId);
      },
      // A browser posts an empty form, which nobody reads.
      { parse: async () => null },
    );
}
