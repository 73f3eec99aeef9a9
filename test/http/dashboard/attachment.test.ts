import { describe, expect, test } from "bun:test";
import { attachmentStream } from "../../../src/domain/attachment/events.ts";
import { askDashboard, logIn } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

describe("attachments in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore);

  const upload = async (filename: string, text: string): Promise<string> => {
    const body = {
      filename,
      content_type: filename.endsWith(".json") ? "application/json" : "text/plain",
      content: Buffer.from(text).toString("base64"),
    };
    const { json, status } = await fixture.tenant.call("POST", "/api/v1/attachments", { body });
    expect(status).toBe(201);
    const checked = async () =>
      (await fixture.tenant.call("GET", `/api/v1/attachments/${json.id}`)).json.status;
    await until(async () => (await checked()) !== "pending", "the check of the upload");
    return json.id;
  };

  test("an empty list says how to upload", async () => {
    expect((await fixture.visitor.get("/attachments")).html).toContain("Nothing is uploaded");
  });

  test("an upload is listed with its state, and downloaded as a file that nothing runs", async () => {
    const id = await upload("terms.txt", "Be kind.");
    const { html } = await fixture.visitor.get("/attachments");
    expect(html).toContain("terms.txt");
    expect(html).toContain(">ready<");
    expect((await fixture.visitor.get(`/attachments/${id}`)).html).toContain("No message was sent with it.");
    const file = await fixture.visitor.get(`/attachments/${id}/file`);
    expect(file.html).toBe("Be kind.");
    expect(file.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(file.headers.get("content-disposition")).toStartWith('attachment; filename="terms.txt"');
    expect(file.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("the messages with it are named, to who may read them", async () => {
    const id = await upload("menu.txt", "Soup.");
    const sent = await fixture.tenant.send(
      newKey(),
      message({ to: "ben@example.org", attachments: [id, id] }),
    );
    expect(sent.status).toBe(202);
    await until(
      async () =>
        (await fixture.visitor.get(`/attachments/${id}`)).html.includes(`/messages/${sent.json.id}`),
      "the upload's page to list the message",
    );
    const { apiKey } = await fixture.tenant.withKey({ scopes: ["attachment:manage"] });
    const { html } = await (await logIn(fixture.service.url, apiKey)).get(`/attachments/${id}`);
    expect(html).not.toContain("ben@example.org");
    expect(html).not.toContain("Messages with it");
  });

  test("what was rejected says why, and a list can be narrowed down to it", async () => {
    const id = await upload("broken.json", "{");
    const { html } = await fixture.visitor.get(`/attachments/${id}`);
    expect(html).toContain("It cannot be sent");
    expect((await fixture.visitor.get(`/attachments/${id}/file`)).status).toBe(404);
    const rejected = await fixture.visitor.get("/attachments?status=rejected");
    expect(rejected.html).toContain("broken.json");
    expect(rejected.html).not.toContain("terms.txt");
  });

  test("a file is uploaded from the page, whatever the browser takes its type for", async () => {
    const uploadForm = async (name: string, text: string, token: string) => {
      const body = new FormData();
      body.append("file", new File([text], name, { type: "application/octet-stream" }));
      return askDashboard(fixture.service.url, `/attachments?form_token=${encodeURIComponent(token)}`, {
        method: "POST",
        body,
        headers: { cookie: fixture.visitor.cookie },
      });
    };
    const token = await fixture.visitor.formToken();
    const accepted = await uploadForm("notes.md", "# Notes", token);
    const path = accepted.location?.replace("/dashboard", "") ?? "";
    expect(path).toMatch(/^\/attachments\/[0-9a-f-]{36}$/);
    await until(
      async () => (await fixture.visitor.get(path)).html.includes(">ready<"),
      "the check of the upload",
    );
    expect((await fixture.visitor.get(path)).html).toContain("text/markdown");
    expect((await uploadForm("notes.exe", "MZ", token)).location).toBe("/dashboard/attachments");
    expect((await uploadForm("notes.txt", "", token)).location).toBe("/dashboard/attachments");
    expect((await uploadForm("forged.md", "# Forged", "")).status).toBe(403);
    const { html } = await fixture.visitor.get("/attachments");
    expect(html).not.toContain("notes.exe");
    expect(html).not.toContain("forged.md");
  });

  test("one is deleted after one question, by the key that asked", async () => {
    const id = await upload("old.txt", "Old.");
    expect((await fixture.visitor.get(`/attachments/${id}/delete`)).html).toContain("Delete old.txt?");
    expect((await fixture.visitor.post(`/attachments/${id}/delete`)).location).toBe("/dashboard/attachments");
    expect((await fixture.visitor.get(`/attachments/${id}/file`)).status).toBe(404);
    expect((await fixture.tenant.call("GET", `/api/v1/attachments/${id}`)).json.status).toBe("expired");
    const events = await fixture.service.log.store.read(attachmentStream(id), 0, 10);
    const expired = events.find(({ type }) => type === "AttachmentExpired");
    expect(expired?.metadata.actor).toBe(`api-key:${fixture.tenant.keyId}`);
  });

  test("nobody sees, takes or deletes what another workspace has", async () => {
    const id = await upload("secret.txt", "Secret.");
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    expect((await other.get("/attachments")).html).not.toContain("secret.txt");
    for (const path of ["", "/file", "/delete"])
      expect((await other.get(`/attachments/${id}${path}`)).status).toBe(404);
    expect((await other.post(`/attachments/${id}/delete`)).status).toBe(404);
  });
});
