import fc from "fast-check";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { AuditSealer } from "../../src/commands/audit/auditSealer.ts";
import { prepareContent } from "../../src/commands/email/content/storedContent.ts";
import { eraseSuppressedAddress } from "../../src/commands/erasure/eraseSuppressedAddress.ts";
import { apiKeyStream } from "../../src/domain/apiKey/events.ts";
import { attachmentStream } from "../../src/domain/attachment/events.ts";
import { emailStream } from "../../src/domain/email/events.ts";
import { erasureStream } from "../../src/domain/erasure/events.ts";
import { INSTANCE_STREAM } from "../../src/domain/instance/events.ts";
import { suppressionStream } from "../../src/domain/suppression/events.ts";
import type { SigningKey } from "../../src/kernel/crypto/auditSigningKey.ts";
import { toErasedEvents } from "../../src/kernel/event/erasedEventHashes.ts";
import { encodeData } from "../../src/kernel/event/eventCodec.ts";
import { metadataOf } from "../../src/kernel/event/eventMetadata.ts";
import { newId } from "../../src/kernel/ids.ts";
import { DAY_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { EventStore, NewEvent } from "../../src/ports/eventStore.ts";
import { memoryContentStore } from "./stores/memoryContentStore.ts";

/** Something that happens to a log; `at` picks one of the existing streams. */
export type LogAction =
  | { readonly kind: "send"; readonly length: number; readonly suppressed: boolean }
  | {
      readonly kind: "attempt" | "deliver" | "erase" | "eraseClaimed" | "expire" | "retry";
      readonly at: number;
    }
  | { readonly kind: "suppress" | "churn" | "forget" | "upload" | "discard"; readonly at: number }
  | { readonly kind: "key" | "template"; readonly at: number }
  | { readonly kind: "reserve" | "count" | "restore" }
  | { readonly kind: "seal"; readonly sealer: number };

const at = fc.nat(1_000);

/** Histories of everything that writes, erases and seals. */
export const logActions: fc.Arbitrary<readonly LogAction[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("send" as const),
        // Short, long enough to be compressed, and too long for an event.
        length: fc.oneof({ weight: 8, arbitrary: fc.nat(300) }, fc.constant(5_000), fc.constant(600_000)),
        suppressed: fc.boolean(),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constantFrom("attempt", "deliver", "erase", "eraseClaimed", "expire", "retry"),
        at,
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constantFrom("suppress", "churn", "forget", "upload", "discard", "key", "template"),
        at,
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("reserve", "reserve", "count", "restore") }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("seal" as const), sealer: fc.nat(1) }) },
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);

interface SentMail {
  readonly stream: string;
  readonly recipientHash: string;
  readonly events: readonly NewEvent[];
  state: "waits" | "ended" | "erased";
}

/** A log that changes as the service would change it, without the service. */
export class AuditedLog {
  readonly workspaceId = newId();
  private readonly content = memoryContentStore();
  private readonly mails: SentMail[] = [];
  private readonly suppressions: { readonly recipientHash: string; isLifted: boolean }[] = [];
  private readonly uploads: { readonly id: string; isErased: boolean }[] = [];
  private readonly sealers: readonly AuditSealer[];
  private keyId: string | null = null;
  private now = Date.parse("2026-01-01T00:00:00Z");

  constructor(
    private readonly store: EventStore,
    signingKey: SigningKey | null = null,
  ) {
    const clock = { now: () => this.now, monotonicMs: () => this.now };
    // Tests may begin to sign, and stop again.
    const signing = { signingKey, mayStopSigning: true };
    this.sealers = [0, 1].map((id) => new AuditSealer({ store, clock, ...signing, actor: `worker:${id}` }));
  }

  async play(history: readonly LogAction[]): Promise<void> {
    for (const action of history) {
      this.now += 1_000;
      await this.apply(action);
    }
  }

  /** Seals all events so far. */
  async seal(sealer = 0): Promise<void> {
    const auditSealer = this.sealers[sealer] as AuditSealer;
    do await auditSealer.readOn(async () => {});
    while (!(await auditSealer.seal()));
  }

  private async apply(action: LogAction): Promise<unknown> {
    switch (action.kind) {
      case "send":
        return this.send(action.length, { suppressed: action.suppressed });
      case "retry":
      case "attempt":
      case "deliver":
      case "erase":
      case "eraseClaimed":
      case "expire":
        return this.applyToMail(action.kind, this.mails[action.at % this.mails.length]);
      case "suppress":
        return this.suppress(`${newId()}${newId()}`.replaceAll("-", ""));
      case "churn":
        return this.churn(action.at);
      case "forget":
        return this.forget(action.at);
      case "upload":
        return this.upload();
      case "discard":
        return this.discard(action.at);
      case "key":
        return this.add(apiKeyStream(newId()), this.keyEvents(action.at % 2 === 0 ? ["ApiKeyRevoked"] : []));
      case "template":
        return this.template(action.at * 20);
      case "reserve":
        return this.add("storage-w", [this.event("StorageReserved", { note: "of storage-w" })]);
      case "count":
        return this.count();
      case "restore":
        return this.add(INSTANCE_STREAM, [this.event("InstanceRestored", { at: rfc3339(this.now) })]);
      case "seal":
        return this.seal(action.sealer);
    }
  }

  private event(type: string, data: object, actor = "worker:1"): NewEvent {
    const context = { at: this.now, correlationId: newId(), actor, workspaceId: this.workspaceId };
    return { id: newId(), type, data, metadata: metadataOf(context) };
  }

  private keyEvents(extraTypes: readonly string[]): readonly NewEvent[] {
    const facts = { workspaceId: this.workspaceId, name: "a key", hash: newId(), scopes: ["email:send"] };
    return [
      this.event("ApiKeyIssued", facts, "cli"),
      ...extraTypes.map((type) => this.event(type, {}, "cli")),
    ];
  }

  /** Names the caller of a request: a key of the workspace, issued when it is first needed. */
  private async caller(): Promise<string> {
    if (this.keyId === null) {
      this.keyId = newId();
      await this.add(apiKeyStream(this.keyId), this.keyEvents([]));
    }
    return `api-key:${this.keyId}`;
  }

  private async add(stream: string, events: readonly NewEvent[]): Promise<number> {
    const last = await this.store.lastRevision(stream);
    await this.store.append(stream, events, last ?? "noStream");
    return (last ?? -1) + events.length;
  }

  private async send(
    length: number,
    { suppressed, uploadId }: { readonly suppressed: boolean; readonly uploadId?: string },
  ): Promise<SentMail> {
    const id = newId();
    const contentEventId = newId();
    const folder = { workspaceId: this.workspaceId, ownerId: id, folderId: contentEventId };
    const text = `${id} `.repeat(Math.ceil(length / 37));
    const content = { from: "a@example.com", to: "b@example.com", subject: "Hello", text };
    const sealed = await prepareContent(this.content, folder, content);
    const recipientHash = newId().replaceAll("-", "");
    const accepted = {
      ...{ workspaceId: this.workspaceId, senderId: "sender", recipientHash, fingerprint: newId() },
      ...{ acceptedAt: rfc3339(this.now), contentEventId },
      ...{ contentDigest: sealed.digest, contentBytes: sealed.bytes },
      ...(uploadId === undefined ? {} : { uploadIds: [uploadId] }),
      ...(suppressed ? { reason: "suppressed" } : {}),
    };
    const stored = this.event("EmailContentStored", sealed.event);
    const acceptance = this.event(suppressed ? "EmailSuppressed" : "EmailQueued", accepted);
    const events = [
      { ...stored, id: contentEventId },
      { ...acceptance, metadata: stored.metadata },
    ];
    const mail: SentMail = {
      ...{ stream: emailStream(id), recipientHash, events },
      state: suppressed ? "ended" : "waits",
    };
    this.mails.push(mail);
    await this.store.append(mail.stream, events, "noStream");
    return mail;
  }

  private async applyToMail(kind: string, mail: SentMail | undefined): Promise<unknown> {
    if (mail === undefined) return;
    const { stream } = mail;
    const started = this.event("EmailDeliveryStarted", { note: `a claim of ${stream}` });
    switch (kind) {
      case "retry":
        return this.store.append(stream, mail.events, "noStream");
      case "attempt":
        return this.add(stream, [started, this.event("EmailDeferred", { note: `of ${stream}` })]);
      case "deliver":
        if (mail.state === "waits") mail.state = "ended";
        return this.add(stream, [started, this.event("EmailSent", { note: `of ${stream}` })]);
      case "expire":
        if (mail.state !== "ended") return;
        this.now += 2 * DAY_MS;
        return this.erase(mail, { reason: "retention" });
      case "eraseClaimed":
        if (mail.state !== "waits") return;
        await this.add(stream, [
          started,
          this.event("EmailContentErasureRequested", { reason: "requested" }, await this.caller()),
          this.event("EmailSent", { note: `of ${stream}` }),
        ]);
        mail.state = "ended";
        return this.erase(mail, { reason: "requested" });
      default:
        return this.erase(mail, { reason: "requested" }, await this.caller());
    }
  }

  private async erase(mail: SentMail, data: object, actor?: string): Promise<void> {
    const waited = mail.state === "waits";
    const erased = this.event(
      "EmailContentErased",
      { ...data, ...(waited ? { canceled: true } : {}) },
      actor,
    );
    if (mail.state !== "erased")
      await this.add(mail.stream, [...(waited ? [this.event("EmailCanceled", {}, actor)] : []), erased]);
    mail.state = "erased";
    await this.store.truncateBefore(mail.stream, 1);
  }

  /** Requests the erasure of a person and erases their mail. The caller does the rest. */
  private async requestErasure(recipientHash: string): Promise<string> {
    const id = newId();
    const person = { workspaceId: this.workspaceId, recipientHash };
    await this.add(erasureStream(id), [this.event("ErasureRequested", person, await this.caller())]);
    for (const mail of this.mails.filter((one) => one.recipientHash === recipientHash))
      await this.erase(mail, { reason: "person", erasureId: id });
    return id;
  }

  private async suppress(recipientHash: string): Promise<void> {
    const known = this.suppressions.find((one) => one.recipientHash === recipientHash);
    if (known === undefined) this.suppressions.push({ recipientHash, isLifted: false });
    else known.isLifted = false;
    const facts = { workspaceId: this.workspaceId, recipientHash, reason: "manual" };
    await this.add(suppressionStream(recipientHash), [
      this.event("SuppressionAddressStored", { address: "b@example.com" }),
      this.event("RecipientSuppressed", facts),
    ]);
  }

  /** Lifts a suppression, or suppresses the recipient again. */
  private async churn(index: number): Promise<void> {
    const one = this.suppressions[index % this.suppressions.length];
    if (one === undefined) return;
    const { recipientHash } = one;
    if (one.isLifted) return this.suppress(recipientHash);
    const facts = { workspaceId: this.workspaceId, recipientHash };
    await this.add(suppressionStream(recipientHash), [this.event("RecipientUnsuppressed", facts)]);
    one.isLifted = true;
  }

  private async forget(index: number): Promise<void> {
    const one = this.suppressions[index % this.suppressions.length];
    if (one === undefined) return;
    const erasureId = await this.requestErasure(one.recipientHash);
    const context = {
      at: this.now,
      correlationId: newId(),
      actor: "worker:1",
      workspaceId: this.workspaceId,
    };
    await eraseSuppressedAddress(this.store, one.recipientHash, erasureId, context);
  }

  private async upload(): Promise<void> {
    const id = newId();
    this.uploads.push({ id, isErased: false });
    const note = { note: `of ${id}` };
    await this.add(attachmentStream(id), [
      this.event("AttachmentUploaded", note),
      this.event("AttachmentValidated", note),
    ]);
  }

  /** Sends an upload to one person, who is then erased, and the upload's name with all else of the person. */
  private async discard(index: number): Promise<void> {
    const one = this.uploads[index % this.uploads.length];
    if (one === undefined || one.isErased) return;
    one.isErased = true;
    const { recipientHash } = await this.send(10, { suppressed: false, uploadId: one.id });
    const erasureId = await this.requestErasure(recipientHash);
    const stream = attachmentStream(one.id);
    await this.add(stream, [
      this.event("AttachmentExpired", { reason: "deleted" }),
      this.event("AttachmentBytesRemoved", {}),
    ]);
    const events = await this.store.read(stream, 0, 100);
    const times = { uploadedAt: rfc3339(this.now), expiresAt: rfc3339(this.now) };
    const left = { workspaceId: this.workspaceId, contentType: "text/plain", bytes: 1, ...times };
    const data = { ...left, erasureId, erased: toErasedEvents(events) };
    const revision = await this.add(stream, [this.event("AttachmentErased", data)]);
    await this.store.truncateBefore(stream, revision);
  }

  private async template(length: number): Promise<void> {
    const stream = `template-${newId()}`;
    const data = { html: "x".repeat(length) };
    const event = this.event("TemplateVersionDrafted", encodeData(data, length));
    await this.store.append(stream, [this.event("TemplateCreated", {}), event], "noStream");
  }

  private async count(): Promise<void> {
    const before = ((await this.store.lastRevision("storage-w")) ?? -1) + 1;
    await this.add("storage-w", [this.event("StorageCounted", { open: [], before })]);
    await this.store.truncateBefore("storage-w", before);
  }
}

/** Opens the log at `path` for `work`, even if it is faulty. */
export async function withLogAt<Result>(
  path: string,
  work: (store: EventStore) => Promise<Result>,
): Promise<Result> {
  const store = openSqliteEventStore({ path, evenIfFaulty: true });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
