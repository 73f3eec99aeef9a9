import { Type } from "@sinclair/typebox";
import { ERRORS_MAX } from "./problem.ts";

/** The body of every refusal: RFC 9457 and our own members. */
export const ProblemBody = Type.Object(
  {
    type: Type.String({ pattern: "^urn:postledger:problem:[a-z-]+$" }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: "What is wrong with this request, for people." }),
    code: Type.String({ pattern: "^[A-Z_]+$", description: "What is wrong, for programs." }),
    request_id: Type.String({ description: "Names this request in the service's log." }),
    retryable: Type.Boolean({ description: "Whether the same request may be sent again as it is." }),
    errors: Type.Array(
      Type.Object(
        {
          pointer: Type.String({
            description:
              "A JSON Pointer (RFC 6901) into the body, or `/name` of a query parameter or a header.",
          }),
          message: Type.String(),
        },
        { additionalProperties: false },
      ),
      {
        maxItems: ERRORS_MAX,
        description: `Each wrong value, ${ERRORS_MAX} at most; empty when the code says it all.`,
      },
    ),
  },
  { $id: "Problem", additionalProperties: false, description: "A refusal (RFC 9457)." },
);
