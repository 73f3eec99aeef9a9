import { Type } from "@sinclair/typebox";
import { REFERENCE_CHARACTERS_MAX } from "../../domain/erasure/referenceFault.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { addressFaults, memberRules } from "../body/commonFaults.ts";
import { Closed, Nullable, SHOWN_NAME_RULE, Text } from "../body/commonSchemas.ts";
import { withAdvice, withRules } from "../body/validation.ts";
import { answersPage } from "../lists/listOperation.ts";
import { answersAccepted, answersOk, operationsOf } from "../server/operation.ts";
import { referenceFaults } from "./erasureHandlers.ts";
import { Erasure } from "./erasureResource.ts";

const ADVICE = { email: "did you mean address?" };

const RequestErasureBody = withRules(
  withAdvice(
    ADVICE,
    Closed(
      {
        address: Text({
          maxLength: ADDRESS_CHARACTERS_MAX,
          description:
            "One bare address: the person's. It is not kept; the request holds a keyed hash of it.",
        }),
        reference: Type.Optional(
          Nullable(
            Text({
              minLength: 1,
              maxLength: REFERENCE_CHARACTERS_MAX,
              description: `What you file it under, such as a ticket number. It stays for good, so it must not name the person: no \`@\`. ${SHOWN_NAME_RULE}`,
            }),
          ),
        ),
      },
      { examples: [{ address: "ana@example.com", reference: "SUP-4711" }] },
    ),
  ),
  memberRules(({ address, reference }) => [
    ...addressFaults("/address", address),
    ...referenceFaults("/reference", reference),
  ]),
);

export const erasureOperations = operationsOf("Erasure", {
  requestErasure: {
    summary: "Erase a person",
    description:
      "Everything of the person with this address that the workspace has at this moment: the content and files of all " +
      "messages to the address, uploads that went to nobody else, address and note of a suppression. Messages that wait " +
      "are canceled; one that is being delivered is erased when that ends. Suppressions keep holding, Idempotency-Keys " +
      "keep answering. Addresses are compared as suppressions are.",
    body: RequestErasureBody,
    ...answersAccepted(Erasure),
  },
  listErasures: {
    summary: "List requests to erase a person",
    description: "Newest first.",
    ...answersPage(Erasure, {}),
  },
  getErasure: { summary: "Read a request and its report", ...answersOk(Erasure, "NOT_FOUND") },
});
