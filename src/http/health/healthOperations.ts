import { Type } from "@sinclair/typebox";
import { AnyName, Closed, OneOf } from "../body/commonSchemas.ts";
import { answersOk, operationsOf } from "../server/operation.ts";

const Live = Closed({ status: Type.Literal("ok") });

const Check = Closed(
  {
    ok: Type.Boolean(),
    required: Type.Boolean({ description: "Whether the service is unready while it is not ok." }),
    detail: Type.String(),
  },
  { $id: "HealthCheck" },
);

function readiness(...statuses: readonly ("ok" | "degraded" | "unavailable")[]) {
  return Closed({ status: OneOf(statuses), checks: Type.Record(AnyName, Check) });
}

export const HealthStatus = Type.Union([
  Type.Literal("ok"),
  Type.Literal("degraded", { description: "It works, but something around it does not." }),
  Type.Literal("unavailable"),
]);

const RetryAfter = Type.Object({
  "Retry-After": Type.String({ pattern: "^[0-9]+$", description: "Seconds." }),
});

export const healthOperations = operationsOf("Health", {
  live: {
    summary: "Say that the process runs",
    ...answersOk(Live),
  },
  ready: {
    summary: "Say whether the service can do its work",
    ...answersOk(readiness("ok", "degraded")),
    also: [
      {
        status: 503,
        schema: readiness("unavailable"),
        description: "A required check fails.",
        headers: RetryAfter,
      },
    ],
  },
});
