import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { expireEmailFiles, expireUpload } from "../../../src/commands/attachment/expireFiles.ts";
import { readEmailHistory } from "../../../src/commands/email/emailHistory.ts";
import { attachmentStream } from "../../../src/domain/attachment/events.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { unreadableUpload } from "../../support/files/unreadableUpload.ts";
import {
  direct,
  type FormFile,
  formOf,
  pdf,
  png,
  type SampleFile,
  txt,
} from "../../support/files/uploadFiles.ts";
import type { Answer } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/attachments";
const FILE_BYTES_MAX = 5_000_000;
/** For tests that make many requests, or large ones. */
const SLOW_MS = 60_000;
const FIELDS = [
  "content_type",
  "created_at",
  "expires_at",
  "filename",
  "id",
  "object",
  "rejection_reason",
  "sha256",
  "size_bytes",
  "status",
];

const sha256Of = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

describe.each(await testStores())("attachments on $name", (store) => {
  const { service, tenant } = serviceFixture(store);
  let other: Tenant;
  beforeAll(async () => {
    other = await service.tenant();
  });

  /** Uploads as a form, as browsers and curl do. */
  const upload = (file: FormFile, caller = tenant): Promise<Answer> =>
    caller.call("POST", PATH, formOf(file));
  const uploadJson = (body: unknown, caller = tenant) => caller.call("POST", PATH, { body });
  const read = (id: string, caller = tenant) => caller.call("GET", `${PATH}/${id}`);
  const remove = (id: string, caller = tenant) => caller.call("DELETE", `${PATH}/${id}`);
  const untilStatus = async (id: string, status: string, caller = tenant) => {
    await until(async () => (await read(id, caller)).json.status === status, `the upload to be ${status}`);
    return (await read(id, caller)).json;
  };
  /** The id of an upload that can be sent. */
  const ready = async (file: SampleFile, caller = tenant): Promise<string> => {
    const answer = await upload(file, caller);
    expect(answer.status).toBe(201);
    await untilStatus(answer.json.id, "ready", caller);
    return answer.json.id;
  };
  /** Everything that the content store has of a workspace, by owner. */
  const owners = async (workspaceId: string) => {
    const found: string[] = [];
    for await (const folder of service.log.content.folders()) {
      if (folder.workspaceId === workspaceId) found.push(folder.ownerId);
    }
    return found;
  };
  const unreadable = (caller = tenant, lifetimeMs?: number) =>
    unreadableUpload(service, store, caller.workspaceId, lifetimeMs);
  /** The files of an accepted message, as its own folder holds them. */
  const filesOf = async (id: string) => {
    const { state, events } = await readEmailHistory(service.log.store, id);
    const stored = events[0]?.event;
    if (state === null || stored?.type !== "EmailContentStored")
      throw new Error("the message was never accepted");
    const folder = { workspaceId: state.workspaceId, ownerId: id, folderId: state.contentEventId };
    return Promise.all(
      (stored.data.content?.attachments ?? []).map(async ({ filename, contentType, sha256 }) => {
        const bytes = await service.log.content.get(folder, sha256);
        return { filename, contentType, bytes: Buffer.from(bytes ?? "gone") };
      }),
    );
  };
  const expectedUpload = ({ filename, contentType, bytes }: SampleFile) => {
    return { filename, contentType, bytes: Buffer.from(bytes) };
  };
  const attached = (...attachments: readonly unknown[]) => message({ attachments });

  describe("uploading", () => {
    test("a form answers 201 with the upload, which is ready a moment later", async () => {
      const file = pdf("Rechnung für März.pdf");
      const before = Date.now();
      const answer = await upload(file);
      expect(answer.status).toBe(201);
      const { json } = answer;
      expect(Object.keys(json).sort()).toEqual(FIELDS);
      expect(json).toMatchObject({
        object: "attachment",
        status: "pending",
        filename: file.filename,
        content_type: "application/pdf",
        size_bytes: file.bytes.length,
        sha256: sha256Of(file.bytes),
        rejection_reason: null,
      });
      expect(answer.headers.get("location")).toBe(`${PATH}/${json.id}`);
      const createdAt = Date.parse(json.created_at);
      expect(createdAt).toBeGreaterThanOrEqual(before);
      expect(Date.parse(json.expires_at)).toBe(createdAt + 24 * HOUR_MS);
      expect(await untilStatus(json.id, "ready")).toEqual({ ...json, status: "ready" });
      const folder = { workspaceId: tenant.workspaceId, ownerId: json.id, folderId: json.id };
      const remaining = await service.log.content.get(folder, json.sha256);
      expect(Buffer.from(remaining ?? "")).toEqual(Buffer.from(file.bytes));
    });

    test("JSON answers the same", async () => {
      const file = png();
      const answer = await uploadJson(direct(file));
      expect(answer.status).toBe(201);
      expect(Object.keys(answer.json).sort()).toEqual(FIELDS);
      expect(answer.json).toMatchObject({ filename: file.filename, sha256: sha256Of(file.bytes) });
      await untilStatus(answer.json.id, "ready");
    });

    test("a name in Unicode form D, as macOS has it, becomes the same name in form C", async () => {
      const [name, given] = ["Rechnung für März.pdf", "Rechnung für März.pdf".normalize("NFD")];
      expect(given).not.toBe(name);
      expect((await upload(pdf(given))).json.filename).toBe(name);
      expect((await uploadJson(direct(pdf(given)))).json.filename).toBe(name);
      const answer = await tenant.send(newKey(), attached(direct(pdf(given))));
      expect((await filesOf(answer.json.id))[0]?.filename).toBe(name);
    });

    test("a part of a form may say its type in capitals and with a charset, as its header allows", async () => {
      const file = txt(100);
      const answer = await upload({ ...file, contentType: "TEXT/plain; charset=UTF-8" });
      expect({ status: answer.status, type: answer.json.content_type }).toEqual({
        status: 201,
        type: "text/plain",
      });
    });

    test.each([null, "application/octet-stream", "text/plain"])(
      "a part of a form that declares the type %j, as clients do that do not know it, has its extension's",
      async (contentType) => {
        const answer = await upload({ ...pdf(), contentType });
        expect({ status: answer.status, type: answer.json.content_type }).toEqual({
          status: 201,
          type: "application/pdf",
        });
        await untilStatus(answer.json.id, "ready");
      },
    );

    test("a part of a form that declares another type than its extension's is told that it needs none", async () => {
      const answer = await upload({ ...pdf(), contentType: "text/csv" });
      expectProblem(answer, 422, "ATTACHMENT_INVALID");
      expect(answer.json.errors).toEqual([
        {
          pointer: "/file",
          message: "the content type of a .pdf file must be exactly application/pdf, or left out in a form",
        },
      ]);
    });

    test.each(["text/plain; charset=utf-8", "TEXT/PLAIN", "text/plain;charset=UTF-8", " text/plain"])(
      "the type %j of a JSON file is not exact",
      async (contentType) => {
        const file = direct({ ...txt(100), contentType });
        expectProblem(await uploadJson(file), 422, "ATTACHMENT_INVALID");
        const answer = await tenant.send(newKey(), attached(file));
        expectProblem(answer, 422, "ATTACHMENT_INVALID");
        expect(answer.json.errors).toEqual([
          {
            pointer: "/attachments/0/content_type",
            message: "the content type of a .txt file must be exactly text/plain",
          },
        ]);
      },
    );

    test("a kind of file that is not accepted is told which ones are", async () => {
      const answer = await uploadJson(direct({ ...pdf(), filename: "old.xls" }));
      expectProblem(answer, 422, "ATTACHMENT_TYPE_UNSUPPORTED");
      expect(answer.json.detail).toMatch(
        /: files with this extension cannot be sent, but pdf, .*\bxlsx\b.* can$/,
      );
    });

    test("an archive is told that the operator can allow it", async () => {
      const answer = await uploadJson(direct({ ...pdf(), filename: "copies.zip" }));
      expectProblem(answer, 422, "ATTACHMENT_TYPE_UNSUPPORTED");
      expect(answer.json.detail).toMatch(
        /: files with this extension cannot be sent unless the operator allows it \(workspace limits --archive-attachments on\), but pdf, /,
      );
    });

    test("what is not what it says is rejected with the reason, and its bytes go", async () => {
      const own = await service.tenant();
      const { json } = await upload({ ...pdf(), bytes: Buffer.from("no PDF at all") }, own);
      const rejected = await untilStatus(json.id, "rejected", own);
      expect(rejected.rejection_reason).toBe("the file has content that is not application/pdf");
      await until(async () => (await owners(own.workspaceId)).length === 0, "the bytes to be removed");
      const stream = await service.log.store.read(attachmentStream(json.id), 0, 10);
      expect(stream.map(({ type }) => type).slice(0, 2)).toEqual([
        "AttachmentUploaded",
        "AttachmentRejected",
      ]);
    });

    test(
      "a file of 5,000,000 bytes is taken, in a form and in JSON",
      async () => {
        const file = txt(FILE_BYTES_MAX);
        for (const answer of [await upload(file), await uploadJson(direct(file))]) {
          expect({ status: answer.status, size: answer.json.size_bytes }).toEqual({
            status: 201,
            size: FILE_BYTES_MAX,
          });
        }
      },
      SLOW_MS,
    );

    const withForm = (parts: string, contentType = "multipart/form-data; boundary=b") =>
      tenant.call("POST", PATH, { body: parts, headers: { "content-type": contentType } });
    const HEAD = 'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain';
    const part = (head: string, body: string) => `--b\r\n${head}\r\n\r\n${body}\r\n`;

    test.each([
      ["a byte too many in a form", 413, "ATTACHMENT_LIMIT_EXCEEDED", () => upload(txt(FILE_BYTES_MAX + 1))],
      [
        "a byte too many in JSON",
        413,
        "ATTACHMENT_LIMIT_EXCEEDED",
        () => uploadJson(direct(txt(FILE_BYTES_MAX + 1))),
      ],
      ["much too many in a form", 413, "ATTACHMENT_LIMIT_EXCEEDED", () => upload(txt(17_000_000))],
      [
        "a body of over 16,000,000 bytes",
        413,
        "PAYLOAD_TOO_LARGE",
        () => uploadJson(direct(txt(12_500_000))),
      ],
      ["an empty file in a form", 422, "ATTACHMENT_INVALID", () => upload(txt(0))],
      ["an empty file in JSON", 422, "ATTACHMENT_INVALID", () => uploadJson(direct(txt(0)))],
      ["a program", 422, "ATTACHMENT_TYPE_UNSUPPORTED", () => upload({ ...pdf(), filename: "a.exe" })],
      [
        "no extension",
        422,
        "ATTACHMENT_TYPE_UNSUPPORTED",
        () => uploadJson(direct({ ...pdf(), filename: "a" })),
      ],
      [
        "another type than the name's",
        422,
        "ATTACHMENT_INVALID",
        () => upload({ ...pdf(), filename: "a.png" }),
      ],
      [
        "white space in Base64",
        422,
        "ATTACHMENT_INVALID",
        () => uploadJson({ ...direct(pdf()), content: "JVBE Rg==" }),
      ],
      [
        "a data URL",
        422,
        "ATTACHMENT_INVALID",
        () => uploadJson({ ...direct(pdf()), content: "data:application/pdf;base64,JVBERg==" }),
      ],
      ["a cut form", 400, "INVALID_REQUEST", () => withForm(part(HEAD, "hello"))],
      ["no boundary", 400, "INVALID_REQUEST", () => withForm(part(HEAD, "a"), "multipart/form-data")],
      ["two files", 400, "INVALID_REQUEST", () => withForm(`${part(HEAD, "a")}${part(HEAD, "b")}--b--\r\n`)],
      ["no file", 400, "INVALID_REQUEST", () => withForm("--b--\r\n")],
      ["an empty form", 400, "INVALID_REQUEST", () => withForm("")],
      [
        "a long file name in a form",
        400,
        "INVALID_REQUEST",
        () => upload({ ...pdf(), filename: `${"a".repeat(252)}.pdf` }),
      ],
      [
        "a long file name in JSON",
        400,
        "INVALID_REQUEST",
        () => uploadJson({ ...direct(pdf()), filename: `${"a".repeat(252)}.pdf` }),
      ],
      ["an unknown field", 400, "INVALID_REQUEST", () => uploadJson({ ...direct(pdf()), id: "x" })],
      ["a missing field", 400, "INVALID_REQUEST", () => uploadJson({ filename: "a.pdf" })],
      ["null", 400, "INVALID_REQUEST", () => uploadJson("null")],
      ["no JSON", 400, "INVALID_REQUEST", () => uploadJson("{")],
      ["another Content-Type", 400, "INVALID_REQUEST", () => withForm("hello", "text/plain")],
    ] as const)("%s is refused with %i %s", async (_, status, code, send) => {
      expectProblem(await send(), status, code);
    });

    test("a compressed form is refused", async () => {
      const headers = { "content-type": "multipart/form-data; boundary=b", "content-encoding": "gzip" };
      const answer = await tenant.call("POST", PATH, { body: `${part(HEAD, "a")}--b--\r\n`, headers });
      expectProblem(answer, 400, "INVALID_REQUEST");
    });

    test("the key and its scope come before the body", async () => {
      const without = await tenant.withKey({ scopes: ["email:send"] });
      const headers = { authorization: null, "content-type": "multipart/form-data" };
      expectProblem(await tenant.call("POST", PATH, { body: "x", headers }), 401, "UNAUTHORIZED");
      expectProblem(await upload(pdf(), without), 403, "FORBIDDEN");
      expectProblem(await without.call("DELETE", `${PATH}/${crypto.randomUUID()}`), 403, "FORBIDDEN");
    });

    /** Sends a form in chunks without an end; the answer, and how many bytes went before it came. */
    const endless = (caller: Tenant) =>
      new Promise<{ readonly answer: string; readonly sent: number }>((resolve) => {
        const { hostname, port } = new URL(service.url);
        let answer = "";
        let sent = 0;
        const socket = connect(Number(port), hostname, () => {
          const lines = [
            `POST ${PATH} HTTP/1.1`,
            "Host: localhost",
            `Authorization: Bearer ${caller.apiKey}`,
            "Content-Type: multipart/form-data; boundary=b",
            "Transfer-Encoding: chunked",
          ];
          socket.write(`${lines.join("\r\n")}\r\n\r\n`);
          const write = (text: string) => socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
          write(part(HEAD, "").slice(0, -"\r\n".length));
          const more = () => {
            if (answer !== "" || socket.destroyed) return;
            sent += 65_536;
            if (write("t".repeat(65_536))) setImmediate(more);
            else socket.once("drain", more);
          };
          more();
        });
        socket.setEncoding("utf8");
        socket.on("data", (text) => {
          answer += text;
          socket.destroy();
        });
        // It is reset when it keeps writing to a refused request.
        socket.on("error", () => {});
        socket.on("close", () => resolve({ answer, sent }));
      });

    test(
      "a file without an end is refused while it comes, and leaves nothing",
      async () => {
        const own = await service.tenant();
        const { answer, sent } = await endless(own);
        expect(answer).toStartWith("HTTP/1.1 413");
        expect(sent).toBeGreaterThan(FILE_BYTES_MAX);
        await until(async () => (await owners(own.workspaceId)).length === 0, "all content to be removed");
      },
      SLOW_MS,
    );

    test(
      "what was refused leaves nothing",
      async () => {
        const own = await service.tenant();
        await upload(txt(FILE_BYTES_MAX + 1), own);
        await upload(txt(0), own);
        await own.call("POST", PATH, {
          body: part(HEAD, "hello"),
          headers: { "content-type": "multipart/form-data; boundary=b" },
        });
        await uploadJson(direct(txt(0)), own);
        expect(await owners(own.workspaceId)).toEqual([]);
        expect((await own.call("GET", PATH)).json).toEqual({ data: [], next_cursor: null });
      },
      SLOW_MS,
    );

    test("a caller that hangs up midway leaves nothing", async () => {
      const own = await service.tenant();
      const { hostname, port } = new URL(service.url);
      const lines = [
        `POST ${PATH} HTTP/1.1`,
        "Host: localhost",
        `Authorization: Bearer ${own.apiKey}`,
        "Content-Type: multipart/form-data; boundary=b",
        "Content-Length: 100000",
      ];
      const socket = connect(Number(port), hostname);
      socket.write(`${lines.join("\r\n")}\r\n\r\n${part(HEAD, "x".repeat(1_000))}`);
      await until(async () => (await owners(own.workspaceId)).length === 1, "the upload to start");
      socket.destroy();
      await until(async () => (await owners(own.workspaceId)).length === 0, "all content to be removed");
      expect((await own.call("GET", PATH)).json.data).toEqual([]);
    });
  });

  describe("the list", () => {
    test(
      "shows at once what was uploaded, newest first, and pages",
      async () => {
        const own = await service.tenant();
        const ids: string[] = [];
        for (let index = 0; index < 5; index += 1) {
          ids.unshift((await upload(pdf(`${index}.pdf`), own)).json.id);
          const { json } = await own.call("GET", PATH);
          expect(json.data.map(({ id }: { id: string }) => id)).toEqual(ids);
        }
        for (const id of ids) await untilStatus(id, "ready", own);
        const all = (await own.call("GET", PATH)).json;
        expect(all.next_cursor).toBeNull();
        const paged: unknown[] = [];
        let query = "?limit=2";
        for (let page = 0; page < 3; page += 1) {
          const { data, next_cursor: cursor } = (await own.call("GET", PATH + query)).json;
          paged.push(...data);
          query = `?limit=2&cursor=${cursor}`;
        }
        expect(paged).toEqual(all.data);
        expect(all.data[0]).toEqual((await read(ids[0] ?? "", own)).json);
      },
      SLOW_MS,
    );

    test("can be of one status", async () => {
      const own = await service.tenant();
      const remaining = await ready(pdf(), own);
      const deleted = await ready(pdf(), own);
      await remove(deleted, own);
      const { json: bad } = await upload({ ...pdf(), bytes: Buffer.from("x") }, own);
      await untilStatus(bad.id, "rejected", own);
      const unchecked = await unreadable(own);
      for (const [status, id] of [
        ["ready", remaining],
        ["expired", deleted],
        ["rejected", bad.id],
        ["pending", unchecked],
      ]) {
        const { json } = await own.call("GET", `${PATH}?status=${status}`);
        expect(json.data.map((row: { id: string }) => row.id)).toEqual([id]);
      }
    });

    test.each(["?status=gone", "?limit=0", "?limit=101", "?cursor=x", "?filename=a"])(
      "%s is refused",
      async (query) => {
        expectProblem(await tenant.call("GET", PATH + query), 400, "INVALID_REQUEST");
      },
    );
  });

  describe("an upload", () => {
    test("that is deleted is expired, and its bytes are gone; a repeat is no error", async () => {
      const own = await service.tenant();
      const id = await ready(pdf(), own);
      for (let time = 0; time < 2; time += 1) {
        const answer = await remove(id, own);
        expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: "" });
        expect(await owners(own.workspaceId)).toEqual([]);
        expect((await read(id, own)).json.status).toBe("expired");
      }
      const types = (await service.log.store.read(attachmentStream(id), 0, 10)).map(({ type }) => type);
      expect(types).toEqual([
        "AttachmentUploaded",
        "AttachmentValidated",
        "AttachmentExpired",
        "AttachmentBytesRemoved",
      ]);
    });

    test("that many delete at once is deleted once", async () => {
      const id = await ready(pdf());
      const answers = await Promise.all(Array.from({ length: 8 }, () => remove(id)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
      const types = (await service.log.store.read(attachmentStream(id), 0, 20)).map(({ type }) => type);
      expect(types.filter((type) => type === "AttachmentExpired")).toHaveLength(1);
    });

    test("of another workspace, and one that never was, is not found", async () => {
      const id = await ready(pdf(), other);
      for (const unknown of [id, crypto.randomUUID()]) {
        expectProblem(await read(unknown), 404, "NOT_FOUND");
        expectProblem(await remove(unknown), 404, "NOT_FOUND");
      }
      expect((await read(id, other)).json.status).toBe("ready");
      expect((await read(id.toUpperCase(), other)).json.id).toBe(id);
    });
  });

  describe("a send", () => {
    test("takes uploads and direct files in the order of the list, one twice as well", async () => {
      const [first, second] = [pdf("first.pdf"), png("second.png")];
      const third = txt(1_000, "third.txt");
      const id = await ready(first);
      const body = attached(direct(second), id, direct(third), id.toUpperCase(), direct(second));
      const answer = await tenant.send(newKey(), body);
      expect(answer.status).toBe(202);
      const expected = [second, first, third, first, second];
      expect(await filesOf(answer.json.id)).toEqual(expected.map(expectedUpload));
      const { json } = await tenant.call("GET", `/api/v1/emails/${answer.json.id}`);
      expect(json.attachments).toEqual(
        expected.map(({ filename, contentType, bytes }) => {
          return { filename, content_type: contentType, size_bytes: bytes.length, expired: false };
        }),
      );
    });

    test("says in the log how many bytes it has, and for how long it keeps them", async () => {
      const [uploaded, sent] = [pdf(), txt(700)];
      const id = await ready(uploaded);
      const answer = await tenant.send(newKey(), attached(id, direct(sent)));
      const [, queued] = await service.log.store.read(emailStream(answer.json.id), 0, 5);
      expect(queued?.data).toMatchObject({
        attachmentBytes: uploaded.bytes.length + 700,
        directBytes: 700,
        attachmentsUntil: rfc3339(Date.parse(answer.json.created_at) + 24 * HOUR_MS),
      });
      const plain = await tenant.send(newKey(), message());
      const [, without] = await service.log.store.read(emailStream(plain.json.id), 0, 5);
      expect(Object.keys(without?.data ?? {})).not.toContain("attachmentsUntil");
    });

    test("takes 10 files and 10,000,000 bytes", async () => {
      const half = await ready(txt(FILE_BYTES_MAX));
      expect((await tenant.send(newKey(), attached(half, half))).status).toBe(202);
      const small = Array.from({ length: 10 }, () => direct(pdf()));
      expect((await tenant.send(newKey(), attached(...small))).status).toBe(202);
    });

    const file = direct(pdf());
    const refusals: readonly [string, number, string, string, () => Promise<readonly unknown[]>][] = [
      ["11 files", 413, "ATTACHMENT_LIMIT_EXCEEDED", "/attachments", async () => Array(11).fill(file)],
      [
        "a direct file of 5,000,001 bytes",
        413,
        "ATTACHMENT_LIMIT_EXCEEDED",
        "/attachments/1/content",
        async () => [file, direct(txt(FILE_BYTES_MAX + 1))],
      ],
      [
        "files of 10,000,001 bytes in all",
        413,
        "ATTACHMENT_LIMIT_EXCEEDED",
        "/attachments",
        async () => {
          const half = await ready(txt(FILE_BYTES_MAX));
          return [half, direct(txt(1)), half];
        },
      ],
      [
        "an unknown upload",
        400,
        "INVALID_REQUEST",
        "/attachments/1",
        async () => [file, crypto.randomUUID()],
      ],
      [
        "another workspace's upload",
        400,
        "INVALID_REQUEST",
        "/attachments/0",
        async () => [await ready(pdf(), other)],
      ],
      [
        "an upload that is not checked yet",
        409,
        "ATTACHMENT_NOT_READY",
        "/attachments/0",
        async () => [await unreadable()],
      ],
      [
        "a rejected upload",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/0",
        async () => {
          const { json } = await upload({ ...pdf(), bytes: Buffer.from("x") });
          await untilStatus(json.id, "rejected");
          return [json.id];
        },
      ],
      [
        "a deleted upload",
        410,
        "ATTACHMENT_EXPIRED",
        "/attachments/1",
        async () => {
          const id = await ready(pdf());
          await remove(id);
          return [file, id];
        },
      ],
      [
        "an upload past its time",
        410,
        "ATTACHMENT_EXPIRED",
        "/attachments/0",
        async () => [await unreadable(tenant, 1)],
      ],
      [
        "a program",
        422,
        "ATTACHMENT_TYPE_UNSUPPORTED",
        "/attachments/0/filename",
        async () => [{ ...file, filename: "a.exe" }],
      ],
      [
        "another type than the name's",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/0/content_type",
        async () => [{ ...file, content_type: "image/png" }],
      ],
      [
        "another content than the name's",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/1/content",
        async () => [file, { ...file, content: "aGVsbG8=" }],
      ],
      [
        "an empty file",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/0/content",
        async () => [{ ...file, content: "" }],
      ],
      [
        "a data URL",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/0/content",
        async () => [{ ...file, content: `data:application/pdf;base64,${file.content}` }],
      ],
      [
        "white space in Base64",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/0/content",
        async () => [{ ...file, content: `${file.content.slice(0, 8)}\n${file.content.slice(8)}` }],
      ],
      [
        "Base64 for URLs",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/0/content",
        async () => [{ ...file, content: "JVBERi0_Pz8-" }],
      ],
      [
        "Base64 without its padding",
        422,
        "ATTACHMENT_INVALID",
        "/attachments/0",
        async () => [{ ...file, content: "JVBERi0xLg" }],
      ],
      [
        "a file name of 256 characters",
        400,
        "INVALID_REQUEST",
        "/attachments/0",
        async () => [{ ...file, filename: `${"a".repeat(252)}.pdf` }],
      ],
    ];
    test.each(refusals)(
      "with %s is refused with %i %s at %s",
      async (...[, status, code, pointer, files]) => {
        const key = newKey();
        const answer = await tenant.send(key, attached(...(await files())));
        expectProblem(answer, status, code);
        expect(answer.json.errors[0].pointer).toStartWith(pointer);
        // A refusal leaves no trace of its key.
        expect((await tenant.send(key, message())).status).toBe(202);
      },
    );

    test("with an upload that is not checked yet may be repeated as it is, and says when", async () => {
      const answer = await tenant.send(newKey(), attached(await unreadable()));
      expectProblem(answer, 409, "ATTACHMENT_NOT_READY");
      expect(answer.json.retryable).toBe(true);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await tenant.send(newKey(), attached(crypto.randomUUID()))).json.retryable).toBe(false);
    });

    test("answers the first of two faults in the order of the checks", async () => {
      const deleted = await ready(pdf());
      await remove(deleted);
      const unknown = crypto.randomUUID();
      const large = direct(txt(FILE_BYTES_MAX + 1));
      const program = { ...direct(pdf()), filename: "a.exe" };
      const unchecked = await unreadable();
      for (const [files, code] of [
        [[...Array(10).fill(program), unknown], "ATTACHMENT_LIMIT_EXCEEDED"],
        [[large, unknown], "INVALID_REQUEST"],
        [[deleted, large], "ATTACHMENT_LIMIT_EXCEEDED"],
        [[deleted, unchecked], "ATTACHMENT_EXPIRED"],
        [[unchecked, deleted], "ATTACHMENT_NOT_READY"],
        [[program, deleted], "ATTACHMENT_TYPE_UNSUPPORTED"],
        [[deleted, program], "ATTACHMENT_EXPIRED"],
      ] as const) {
        expect((await tenant.send(newKey(), attached(...files))).json.code).toBe(code);
      }
    });

    test("that is repeated after its upload was deleted gets its first answer", async () => {
      const id = await ready(pdf());
      const key = newKey();
      const body = attached(id, direct(pdf("a.pdf")));
      const first = await tenant.send(key, body);
      expect(first.status).toBe(202);
      await remove(id);
      const repeat = await tenant.send(key, body);
      expect({ status: repeat.status, json: repeat.json }).toEqual({ status: 202, json: first.json });
      expect(repeat.headers.get("idempotent-replayed")).toBe("true");
      expectProblem(await tenant.send(key, attached(id)), 409, "IDEMPOTENCY_CONFLICT");
      expectProblem(await tenant.send(newKey(), body), 410, "ATTACHMENT_EXPIRED");
    });

    test("owns its bytes from its acceptance, whatever becomes of the upload", async () => {
      const file = pdf();
      const id = await ready(file);
      const answer = await tenant.send(newKey(), attached(id));
      expect((await remove(id)).status).toBe(204);
      expect(await filesOf(answer.json.id)).toEqual([expectedUpload(file)]);
    });

    test("shows that its files have expired, once it has ended and their time is over", async () => {
      const [uploaded, sent] = [pdf(), txt(300)];
      const uploadId = await ready(uploaded);
      const key = newKey();
      const body = attached(uploadId, direct(sent));
      const { json } = await tenant.send(key, body);
      const context = { ...systemCommandContext("test"), workspaceId: tenant.workspaceId };
      const later = { ...context, at: Date.now() + 25 * HOUR_MS };
      await expireEmailFiles(service.log, json.id, later);
      expect(await filesOf(json.id)).toEqual([uploaded, sent].map(expectedUpload));
      expect((await tenant.call("POST", `/api/v1/emails/${json.id}/cancel`)).status).toBe(200);
      await expireEmailFiles(service.log, json.id, context);
      expect(await filesOf(json.id)).toEqual([uploaded, sent].map(expectedUpload));
      for (let time = 0; time < 2; time += 1) await expireEmailFiles(service.log, json.id, later);

      expect((await filesOf(json.id)).map(({ bytes }) => bytes.toString())).toEqual(["gone", "gone"]);
      const shown = (await tenant.call("GET", `/api/v1/emails/${json.id}`)).json;
      expect(shown).toMatchObject({
        status: "canceled",
        text: "It works.",
        attachments: [
          { filename: uploaded.filename, size_bytes: uploaded.bytes.length, expired: true },
          { filename: sent.filename, size_bytes: 300, expired: true },
        ],
      });
      expect(shown.timeline.map(({ type }: { type: string }) => type)).toEqual([
        "content_stored",
        "queued",
        "canceled",
        "attachments_expired",
      ]);
      // The upload goes by its own time, and a retry still gets the first answer.
      expect((await read(uploadId)).json.status).toBe("ready");
      await expireUpload(service.log, uploadId, later);
      expect((await read(uploadId)).json.status).toBe("expired");
      expect((await tenant.send(key, body)).json).toEqual(json);
      expectProblem(await tenant.send(newKey(), body), 410, "ATTACHMENT_EXPIRED");
    });

    test(
      "that races with the end of its upload is accepted with all bytes, or answered 410",
      async () => {
        const check = async (answer: Answer, file: SampleFile) => {
          if (answer.status === 202)
            expect(await filesOf(answer.json.id)).toEqual([expectedUpload(file), expectedUpload(file)]);
          else expectProblem(answer, 410, "ATTACHMENT_EXPIRED");
        };
        for (let round = 0; round < 5; round += 1) {
          const file = pdf();
          const id = await ready(file);
          const sends = Array.from({ length: 3 }, () => tenant.send(newKey(), attached(id, id)));
          const [removed, ...answers] = await Promise.all([remove(id), ...sends]);
          expect(removed.status).toBe(204);
          for (const answer of answers) await check(answer, file);
        }
      },
      SLOW_MS,
    );
  });
});

describe.each(await testStores())("delivery on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store, { DELIVERY: "on" });
  });
  afterAll(() => service.remove());

  test("sends a message whose upload was deleted right after its acceptance", async () => {
    const tenant = await service.tenant();
    const file = pdf();
    const { json } = await tenant.call("POST", PATH, { body: direct(file) });
    const isReady = async () => (await tenant.call("GET", `${PATH}/${json.id}`)).json.status === "ready";
    await until(isReady, "the upload to be ready");
    const answer = await tenant.send(newKey(), message({ attachments: [json.id] }));
    await tenant.call("DELETE", `${PATH}/${json.id}`);
    expect(answer.status).toBe(202);
    const isSent = async () =>
      (await tenant.call("GET", `/api/v1/emails/${answer.json.id}`)).json.status === "sent";
    await until(isSent, "the message to be sent");
  });
});
