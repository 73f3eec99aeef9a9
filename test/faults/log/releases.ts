import { changedProgram, type Plant } from "../crash/plants.ts";

/** EmailQueued in another version: the fields that identify its request are in one object. */
export const SECOND_VERSION: readonly Plant[] = [
  {
    file: "src/domain/email/events.ts",
    from: "const schemas = {",
    to: `const { fingerprint: _fingerprint, ...Unchanged } = Accepted.properties;
const Requested = { request: Type.Object({ fingerprint: Type.String() }) };
const upcast = ({ fingerprint, ...rest }: any) => ({ ...rest, request: { fingerprint } });
const downcast = ({ request, ...rest }: any) => ({ ...rest, fingerprint: request.fingerprint });

const schemas = {`,
  },
  {
    file: "src/domain/email/events.ts",
    from: "EmailQueued: Accepted,",
    to: "EmailQueued: Type.Object({ ...Unchanged, ...Requested }),",
  },
  {
    file: "src/domain/email/state.ts",
    from: "const { workspaceId, senderId, recipientHash, fingerprint,",
    to: `const fingerprint = (data as any).request?.fingerprint ?? data.fingerprint;
  const { workspaceId, senderId, recipientHash,`,
  },
  {
    file: "projections/emails/apply.ts",
    from: "fingerprint: fingerprintKey(fingerprint),",
    to: "fingerprint: fingerprintKey((data as any).request?.fingerprint ?? fingerprint),",
  },
  {
    file: "src/commands/email/send/acceptEmail.ts",
    from: 'return { type: "EmailQueued", data: accepted };',
    to: 'return { type: "EmailQueued", data: secondVersion(accepted) };',
  },
  {
    file: "src/commands/email/send/acceptEmail.ts",
    from: 'const queued: EmailEvent = { type: "EmailQueued", data: accepted };',
    to: 'const queued: EmailEvent = { type: "EmailQueued", data: secondVersion(accepted) };',
  },
  {
    file: "src/commands/email/send/acceptEmail.ts",
    from: "type SendWithFiles =",
    to: `const secondVersion = ({ fingerprint, ...rest }: any) => ({ ...rest, request: { fingerprint } });

type SendWithFiles =`,
  },
];

/** The release that can read the second version of EmailQueued, and still writes the first. */
export function readingRelease(): Promise<string> {
  return changedProgram("reading-release", [
    ...SECOND_VERSION,
    {
      file: "src/domain/email/events.ts",
      from: "createCodec(schemas)",
      to: "createCodec(schemas, { EmailQueued: { upcasts: [upcast], writes: { version: 1, downcast } } })",
    },
    { file: "src/kernel/event/logFormat.ts", from: "{ reads: 1, writes: 1 }", to: "{ reads: 2, writes: 1 }" },
  ]);
}

/** The release after that one: it writes the second version, and a field of EmailSent that no other release knows. */
export function writingRelease(): Promise<string> {
  return changedProgram("writing-release", [
    ...SECOND_VERSION,
    {
      file: "src/domain/email/events.ts",
      from: "createCodec(schemas)",
      to: "createCodec(schemas, { EmailQueued: { upcasts: [upcast] } })",
    },
    { file: "src/kernel/event/logFormat.ts", from: "{ reads: 1, writes: 1 }", to: "{ reads: 2, writes: 2 }" },
    {
      file: "src/domain/email/decisions.ts",
      from: "transport: recording.transport, reply, ...facts } };",
      to: 'transport: recording.transport, reply, ...facts, route: { relay: "of the next release" } } };',
    },
  ]);
}
