// What each command loads: a command that must start fast loads no more than it needs. The tests do not measure time,
// because the machine also does other work.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { processStage } from "./stage.ts";

const stage = processStage();
const house = join(import.meta.dirname, "../..");
/** Prints at exit which packages were loaded, and how many modules in all. */
const WATCH = `
  import { registerHooks } from "node:module";
  const urls = [];
  registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
  process.on("exit", () => {
    const packages = urls.flatMap((url) => /.*node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? []);
    console.error(JSON.stringify({ packages: [...new Set(packages)].sort(), count: urls.length }));
  });`;

function loaded(...args: string[]): { packages: string[]; count: number } {
  const hook = `data:text/javascript,${encodeURIComponent(WATCH)}`;
  const command = ["--import", hook, "server/main.ts", ...args];
  const { stderr, status } = spawnSync(process.execPath, command, { cwd: house, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return JSON.parse(stderr);
}

test("help and version load nothing of the server, nor of the client", () => {
  for (const args of [["--version"], ["--help"], ["run", "--help"], ["help", "ls"]]) {
    const { packages, count } = loaded(...args);
    expect(packages).toEqual(["commander"]);
    expect(count).toBeLessThan(60);
  }
});

test("a command that asks a server loads the client and its two packages, and nothing of the server", async () => {
  const server = await stage.serving(await stage.database(freshSqlite));
  const { packages } = loaded("ls", "--addr", server.grpcAddress);
  expect(packages).toEqual(["@bufbuild/protobuf", "@grpc/grpc-js", "@js-sdsl/ordered-map", "commander"]);
});
