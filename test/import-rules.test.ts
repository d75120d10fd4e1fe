// Which folder of server/ may import what, as ARCHITECTURE.md says. What is not in the table is refused.

import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { parseAst } from "vitest/node";

/** By folder of server/, or file beside the folders: other folders and files, and packages; `node/fs` is node:fs. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  core: "",
  config: "core zod node",
  wakeup: "core storage/store.ts node",
  storage: "core log/log.ts migrations mysql2 knex tarn node node/sqlite",
  engine: "core wakeup storage/retry.ts storage/store.ts node",
  log: "core engine/lock-engine.ts pino node",
  grpc: "core config engine log #proto @bufbuild/protobuf @grpc grpc-health-check node",
  metrics: "core config engine/lock-engine.ts grpc/call-observer.ts storage/store.ts prom-client node",
  ops: "core config engine/faults.ts metrics node",
  cli: "core config log storage app.ts clients/typescript/src/index.ts commander node",
  "app.ts": "core config log wakeup storage engine grpc metrics ops node",
  "main.ts": "core config log wakeup storage engine grpc metrics ops cli app.ts node node/process",
};
/** Whoever may import node/ has to name these. */
const RESERVED = ["node/process", "node/sqlite"];
const PROCESS = ["process", "globalThis"];
/** What would let time, chance and I/O into the core. */
const IMPURE = ["Date", "Promise", "console", "crypto", "fetch", "performance", "queueMicrotask"].concat([
  "setImmediate",
  "setInterval",
  "setTimeout",
]);

/** The part of ESTree that matters here. */
interface Node {
  readonly type: string;
  readonly name?: string;
  readonly computed?: boolean;
  readonly source?: { readonly value?: string } | null;
}

/** What is wrong with a file, by its path below server/. */
function breaches(file: string, source: string): string[] {
  const room = file.split("/", 1)[0] as string;
  const may = MAY_IMPORT[room]?.split(" ");
  if (!may) return [`${room} is not in the table`];
  const globals = [...(room === "main.ts" ? [] : PROCESS), ...(room === "core" ? IMPURE : [])];
  const found: string[] = [];
  for (const { type, name = "", source: from } of nodes(parseAst(source, { lang: "ts" }))) {
    if (type === "Identifier" && globals.includes(name)) found.push(`${file} uses ${name}`);
    if (from && !isAllowed(from.value ?? ""))
      found.push(`${file} imports ${from.value ?? "what it computes"}`);
  }
  return found;

  function isAllowed(module: string): boolean {
    // One folder up from server/ are the migrations and the clients alone.
    const path = module.startsWith(".")
      ? posix.join("server", file, "..", module).replace(/^server\//, "")
      : module.replace(":", "/");
    // A package must not pass for the folder that it shares its name with.
    if (!module.startsWith(".") && (path.split("/", 1)[0] as string) in MAY_IMPORT) return false;
    if (RESERVED.includes(path)) return may?.includes(path) ?? false;
    return [room, ...(may ?? [])].some((ours) => path === ours || path.startsWith(`${ours}/`));
  }
}

/** All nodes but names of properties. */
function* nodes(value: unknown): Generator<Node> {
  if (typeof value !== "object" || value === null) return;
  const node = value as Node;
  if (typeof node.type === "string") yield node;
  for (const [key, child] of Object.entries(node)) {
    if (node.computed === false && (key === "property" || key === "key")) continue;
    yield* nodes(child);
  }
}

test("every file of server/ keeps to the table", () => {
  const server = join(import.meta.dirname, "../server");
  const files = globSync("**/*.ts", { cwd: server }).map((file) => file.replaceAll("\\", "/"));
  expect(files).toContain("storage/store.ts");
  expect(files.flatMap((file) => breaches(file, readFileSync(join(server, file), "utf8")))).toEqual([]);
});

test.each([
  ["core/planted.ts", 'import "node:crypto";'],
  ["core/planted.ts", 'import "../core/../app.ts";'],
  ["core/planted.ts", 'export type { Store } from "../storage/store.ts";'],
  ["core/planted.ts", 'type Store = import("../storage/store.ts").Store;'],
  ["core/planted.ts", "const at = Date.now();"],
  ["engine/planted.ts", 'export * from "../storage/mysql.ts";'],
  ["engine/planted.ts", "await import(name);"],
  ["engine/planted.ts", 'await import("mysql2/promise");'],
  ["engine/planted.ts", 'import "./../app.ts";'],
  ["storage/rows/planted.ts", 'import "../../engine/lanes.ts";'],
  ["grpc/planted.ts", 'import "node:sqlite";'],
  ["grpc/planted.ts", 'import { env } from "node:process";'],
  ["grpc/planted.ts", "const { env } = process;"],
  ["grpc/planted.ts", "globalThis.process.exit();"],
  ["grpc/planted.ts", 'import "config/x.js";'],
  ["metrics/planted.ts", 'import "#proto/rowlock/v1/lock_pb.js";'],
  ["cli/shell/planted.ts", 'import "../../../clients/typescript/src/rowlock.ts";'],
  ["app.ts", 'import "./main.ts";'],
  ["main.ts", 'import "prom-client";'],
  ["planted.ts", ""],
  ["planted/planted.ts", ""],
])("in %s, %s is refused", (file, source) => {
  expect(breaches(file, source)).toHaveLength(1);
});

test.each([
  ["core/planted.ts", 'import "./fits.ts"; const spent = { Date: 1 }.Date;'],
  [
    "storage/mysql/planted.ts",
    'import "../store.ts"; import "../../core/claim.ts"; import "mysql2/promise";',
  ],
  [
    "storage/sqlite/planted.ts",
    'import "../../../migrations/index.ts"; import "node:sqlite"; import "node:fs";',
  ],
  ["grpc/planted.ts", 'import "@grpc/grpc-js"; import type {} from "#proto/rowlock/v1/lock_pb.js";'],
  ["cli/shell/planted.ts", 'import "../../../clients/typescript/src/index.ts"; import "commander";'],
  ["main.ts", 'import "node:process"; process.exitCode = 0; await import("./cli/serve.ts");'],
])("in %s, %s is allowed", (file, source) => {
  expect(breaches(file, source)).toEqual([]);
});
