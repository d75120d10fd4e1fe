// `npm start`: the shell that npm starts the server in must not keep a signal from reaching the server.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";

test("npm start serves, and a SIGTERM to npm ends the server with it", async () => {
  const options = ["--database-url", "sqlite::memory:", "--listen", "127.0.0.1:0", "--metrics-listen", "off"];
  const npm = spawn("npm", ["start", "--", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  // Emitted when the last process that writes to the output has ended.
  const closed = once(npm, "close");
  let screen = "";
  for await (const line of createInterface({ input: npm.stdout })) {
    screen += `${line}\n`;
    if (screen.includes("Acquire")) npm.kill("SIGTERM");
  }
  await closed;
  expect(screen).toContain("gRPC");
});
