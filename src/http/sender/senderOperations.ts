import { Type } from "@sinclair/typebox";
import { Closed, FreeText, OneOf } from "../body/commonSchemas.ts";
import { answersPage } from "../lists/listOperation.ts";
import { answersCreated, answersOk, operationsOf } from "../server/operation.ts";
import { AddSenderBody } from "./addSenderRequest.ts";
import { Sender, SenderId } from "./senderResource.ts";

const VerifySenderBody = Closed(
  {
    method: OneOf(["email", "dns"], {
      description: "email for an address, dns for a domain.",
    }),
  },
  { examples: [{ method: "email" }] },
);

const Page = FreeText("A page for people.");

const LINK_REFUSALS = [
  { status: 404, schema: Page, contentType: "text/html", description: "There is no such link." },
  { status: 410, schema: Page, contentType: "text/html", description: "The link was used, or is too old." },
] as const;

const page = {
  success: { status: 200, schema: Page, contentType: "text/html" },
  also: LINK_REFUSALS,
  problems: [],
} as const;

const Params = Type.Object({ id: SenderId });

export const senderOperations = operationsOf("Senders", {
  addSender: {
    summary: "Add a sending address or domain",
    description:
      "It cannot send before it is verified. Adding it again answers the existing sender and, if display_name is given, " +
      "changes its display name; null removes it. A workspace has at most 1,000 senders, disabled ones included.",
    body: AddSenderBody,
    ...answersCreated(Sender, "SENDER_LIMIT_REACHED"),
    also: [{ status: 200, schema: Sender, description: "It already existed." }],
  },
  listSenders: {
    summary: "List senders, newest first",
    ...answersPage(Sender, {}),
  },
  getSender: {
    params: Params,
    summary: "Read a sender",
    ...answersOk(Sender, "NOT_FOUND"),
  },
  requestSenderVerification: {
    params: Params,
    summary: "Verify a sender",
    description:
      "email: mails a link to the address, which works once within 24 hours. The mail names the workspace and holds the " +
      "code that the answer shows. A workspace may have one mail in 10 minutes and five a UTC day for an address, and 20 " +
      "a UTC day in all; an address gets 20 a UTC day, and one more for each workspace that asks for the first time that " +
      "day, up to 100. dns: looks for the domain's record now; 503 if DNS does not answer within 5 s. The answer is " +
      "the sender as it is afterwards; one that is already verified is answered as it is.",
    body: VerifySenderBody,
    ...answersOk(
      Sender,
      "NOT_FOUND",
      "RECIPIENT_SUPPRESSED",
      "SENDER_VERIFICATION_UNAVAILABLE",
      "SENDER_VERIFICATION_FAILED",
    ),
  },
  disableSender: {
    params: Params,
    summary: "Disable a sender",
    description:
      "It cannot send, and its queued mail waits. A disabled address is not covered by its domain either.",
    ...answersOk(Sender, "NOT_FOUND"),
  },
  enableSender: {
    params: Params,
    summary: "Enable a sender that was disabled",
    description: "One that was never verified stays unverified.",
    ...answersOk(Sender, "NOT_FOUND"),
  },
  showSenderVerification: {
    summary: "The page that a verification link opens",
    description: "Changes nothing.",
    ...page,
  },
  confirmSenderVerification: {
    summary: "Confirm a sending address",
    description: "What the page's button does.",
    ...page,
  },
});
