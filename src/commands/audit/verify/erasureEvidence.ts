import { firstRow, type ReadDatabaseFile } from "../../../ports/readDatabase.ts";

/** The facts that decide whether a message may be erased. */
export interface MessageEvidence {
  readonly workspaceId: string;
  readonly recipientHash: string;
  readonly acceptedAt: string;
  /** Whether its send asked for the erasure of its content as soon as it has ended. */
  readonly isErasedAtEnd: boolean;
  readonly hasEnded: boolean;
  /** Whether its erasure was requested while a worker had claimed it. */
  readonly isErasureRequested: boolean;
}

interface PersonRequest {
  readonly workspaceId: string;
  readonly recipientHash: string;
}

/** How many messages' facts are in memory; the others are on disk. */
const MESSAGES_IN_MEMORY_MAX = 20_000;

/**
 * What the log has shown so far that can justify an erasure: messages, keys, requests, to whom uploads were sent, and the
 * events of suppressions. Memory does not grow with the log.
 */
export class ErasureEvidence {
  private readonly recent = new Map<string, MessageEvidence>();

  constructor(private readonly db: ReadDatabaseFile) {
    db.run("CREATE TABLE messages (stream TEXT PRIMARY KEY, facts TEXT NOT NULL) WITHOUT ROWID");
    db.run("CREATE TABLE keys (stream TEXT PRIMARY KEY, workspace TEXT NOT NULL) WITHOUT ROWID");
    db.run(`CREATE TABLE requests (stream TEXT PRIMARY KEY, workspace TEXT NOT NULL, recipient TEXT NOT NULL)
      WITHOUT ROWID`);
    db.run(`CREATE TABLE sent_to (upload TEXT NOT NULL, recipient TEXT NOT NULL, PRIMARY KEY (upload, recipient))
      WITHOUT ROWID`);
    db.run(`CREATE TABLE suppressions (stream TEXT NOT NULL, revision INTEGER NOT NULL, type TEXT NOT NULL,
      PRIMARY KEY (stream, revision)) WITHOUT ROWID`);
  }

  noteMessage(stream: string, facts: MessageEvidence): void {
    if (this.recent.size >= MESSAGES_IN_MEMORY_MAX) this.spill();
    this.recent.set(stream, facts);
  }

  message(stream: string): MessageEvidence | null {
    const known = this.recent.get(stream);
    if (known) return known;
    const row = this.db.get("SELECT facts FROM messages WHERE stream = ?", stream);
    return row === undefined ? null : (JSON.parse(String(row.facts)) as MessageEvidence);
  }

  noteKey(stream: string, workspaceId: string): void {
    this.db.run("INSERT OR IGNORE INTO keys VALUES (?, ?)", stream, workspaceId);
  }

  /** The workspace that a key was issued in; null if the key was never issued. */
  workspaceOfKey(stream: string): string | null {
    const sql = "SELECT workspace FROM keys WHERE stream = ?";
    return firstRow<{ workspace: string }>(this.db, sql, stream)?.workspace ?? null;
  }

  noteRequest(stream: string, { workspaceId, recipientHash }: PersonRequest): void {
    this.db.run("INSERT OR IGNORE INTO requests VALUES (?, ?, ?)", stream, workspaceId, recipientHash);
  }

  request(stream: string): PersonRequest | null {
    const sql = "SELECT workspace AS workspaceId, recipient AS recipientHash FROM requests WHERE stream = ?";
    return firstRow(this.db, sql, stream);
  }

  noteSent(uploadId: string, recipientHash: string): void {
    this.db.run("INSERT OR IGNORE INTO sent_to VALUES (?, ?)", uploadId, recipientHash);
  }

  wasSentTo(uploadId: string, recipientHash: string): boolean {
    const sql = "SELECT 1 FROM sent_to WHERE upload = ? AND recipient = ?";
    return this.db.get(sql, uploadId, recipientHash) !== undefined;
  }

  noteSuppressionEvent(stream: string, revision: number, type: string): void {
    this.db.run("INSERT OR IGNORE INTO suppressions VALUES (?, ?, ?)", stream, revision, type);
  }

  /** The type of an event in a suppression's stream; null if it was not seen. */
  suppressionEvent(stream: string, revision: number): string | null {
    const sql = "SELECT type FROM suppressions WHERE stream = ? AND revision = ?";
    return firstRow<{ type: string }>(this.db, sql, stream, revision)?.type ?? null;
  }

  private spill(): void {
    for (const [stream, facts] of this.recent) {
      this.db.run("INSERT OR REPLACE INTO messages VALUES (?, ?)", stream, JSON.stringify(facts));
    }
    this.recent.clear();
  }
}
