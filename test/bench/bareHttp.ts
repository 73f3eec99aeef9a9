import { Elysia } from "elysia";

/** A server that does nothing but HTTP, in a process of its own. */
export interface BareHttp {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** What HTTP itself costs: Elysia, a body that is read and not looked at, and an answer of the length of a receipt. */
export async function startBareHttp(): Promise<BareHttp> {
  const child = Bun.spawn([process.execPath, import.meta.path], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  return {
    url: new TextDecoder().decode(value),
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

if (import.meta.main) {
  const receipt = {
    id: crypto.randomUUID(),
    object: "email",
    status: "queued",
    created_at: new Date(0).toISOString(),
  };
  const app = new Elysia().post(
    "/api/v1/emails",
    async ({ request, set }) => {
      await request.arrayBuffer();
      set.status = 202;
      return receipt;
    },
    { parse: "none" },
  );
  const { server } = app.listen({ hostname: "127.0.0.1", port: 0 });
  process.stdout.write(String(server?.url.href));
}
