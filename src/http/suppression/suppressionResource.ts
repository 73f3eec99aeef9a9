import { Type } from "@sinclair/typebox";
import { SUPPRESSION_REASONS } from "../../domain/suppression/events.ts";
import { Closed, DateTime, FreeText, Id, Nullable, OneOf, Uuid } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";

/** Why an address is suppressed. */
export const SuppressionReason = OneOf(SUPPRESSION_REASONS, {
  description:
    "`bounce`: the address was permanently refused by its own server; `complaint`: its owner reported a message; `manual`: added by hand. With an imported list the first two come from another service.",
});

export const Suppression = Closed(
  {
    id: Uuid,
    object: Type.Literal("suppression"),
    address: Nullable(FreeText("As it was given, the domain in lower-case ASCII; null once it was erased.")),
    reason: SuppressionReason,
    note: Nullable(FreeText("What was written when it was added by hand or imported.")),
    email_id: Nullable(Id("The message whose bounce or complaint led to it.")),
    created_at: DateTime,
  },
  { $id: "Suppression" },
);

export const suppressionJson = jsonOfSchema(Suppression);
