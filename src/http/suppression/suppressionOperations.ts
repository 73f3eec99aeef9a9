import { Type } from "@sinclair/typebox";
import { NOTE_CHARACTERS_MAX } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { addressFaults, memberRules } from "../body/commonFaults.ts";
import { Closed, Nullable, Text } from "../body/commonSchemas.ts";
import { withAdvice, withRules } from "../body/validation.ts";
import { answersPage, CREATED_RANGE } from "../lists/listOperation.ts";
import { answersCreated, answersNoContent, answersOk, operationsOf } from "../server/operation.ts";
import { Suppression, SuppressionReason } from "./suppressionResource.ts";

/** How addresses are compared, for the reader of the reference. */
const COMPARED =
  "Addresses are compared with the domain in lower-case ASCII (IDNA) and the local part in lower case: " +
  "an address suppressed in one spelling is suppressed in all.";

/** Members of other services' requests that ours does not have. */
const ADVICE = {
  email: "did you mean address?",
  EmailAddress: "did you mean address?",
  reason: "it is always manual; your own words go into note",
};

const AddSuppressionBody = withRules(
  withAdvice(
    ADVICE,
    Closed(
      {
        address: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "One bare address." }),
        note: Type.Optional(
          Nullable(Text({ maxLength: NOTE_CHARACTERS_MAX, description: "Why, in your own words." })),
        ),
      },
      { examples: [{ address: "ana@example.com", note: "Asked for it by phone." }] },
    ),
  ),
  memberRules(({ address }) => addressFaults("/address", address)),
);

export const suppressionOperations = operationsOf("Suppressions", {
  addSuppression: {
    summary: "Suppress a recipient",
    description:
      "Mail to the address ends as `suppressed`, including what is already queued. An existing suppression stays " +
      `as it is, with its first reason and note, and is answered with 200. The length of the list is not limited. ${COMPARED}`,
    body: AddSuppressionBody,
    ...answersCreated(Suppression),
    also: [
      {
        status: 200,
        schema: Suppression,
        description: "The address was suppressed already: its suppression, unchanged.",
      },
    ],
  },
  listSuppressions: {
    summary: "List suppressed recipients",
    description: "Newest first.",
    ...answersPage(Suppression, { reason: Type.Optional(SuppressionReason), ...CREATED_RANGE }),
  },
  getSuppression: {
    summary: "Look up a suppression by its address",
    description: `The address is percent-encoded in the path. ${COMPARED}`,
    ...answersOk(Suppression, "NOT_FOUND"),
  },
  removeSuppression: {
    summary: "Remove a suppression",
    description:
      "New mail to the address is delivered again; messages already suppressed stay so. The address is " +
      `percent-encoded in the path. ${COMPARED}`,
    ...answersNoContent("NOT_FOUND"),
  },
});
