import { connect } from "node:net";

/** One request as these very lines, for what `fetch` would tidy up; the answer as it came. */
export function rawRequest(url: string, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(Number(port), hostname, () => socket.write(lines.join("\r\n")));
    socket.setEncoding("utf8");
    socket.on("data", (text) => {
      answer += text;
    });
    socket.on("end", () => resolve(answer));
    socket.on("error", reject);
  });
}
