// The commands in clients/README.md for languages without a client here generate what they promise, if their plugins
// are on this machine; a missing plugin is reported by name.

import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";

const root = join(import.meta.dirname, "../..");
const scratch = mkdtempSync(join(tmpdir(), "rowlock-other-languages-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Plugin {
  readonly protoc_builtin?: string;
  readonly local?: string;
  readonly out: string;
}

/** A file that each plugin makes, and words in it. */
const MADE: Readonly<Record<string, readonly [file: string, words: string]>> = {
  csharp: ["**/LockService.cs", "namespace Rowlock.V1"],
  grpc_csharp_plugin: ["**/LockServiceGrpc.cs", "class LockServiceClient"],
  "protoc-gen-prost": ["**/rowlock.v1.rs", "pub struct AcquireRequest"],
  "protoc-gen-tonic": ["**/rowlock.v1.tonic.rs", "pub mod lock_service_client"],
  ruby: ["rowlock/v1/lock_service_pb.rb", "rowlock.v1.AcquireRequest"],
  grpc_ruby_plugin: ["rowlock/v1/lock_service_services_pb.rb", "rpc :Acquire"],
  php: ["Rowlock/V1/AcquireRequest.php", "namespace Rowlock\\V1;"],
  grpc_php_plugin: ["Rowlock/V1/LockServiceClient.php", "class LockServiceClient"],
  cpp: ["rowlock/v1/lock_service.pb.h", "class AcquireRequest"],
  grpc_cpp_plugin: ["rowlock/v1/lock_service.grpc.pb.h", "class LockService"],
};

const readme = readFileSync(join(root, "clients/README.md"), "utf8");
const languages = [...readme.matchAll(/^### (.+)\n[\s\S]*?```yaml\n([\s\S]*?)```/gm)].flatMap(
  ([, language, lines]) => {
    const plugins = parse(lines as string).plugins as Plugin[];
    // A plugin may add to files of the plugins before it, so run those too.
    return plugins.map((plugin, index) => ({
      language: language as string,
      plugin,
      name: plugin.protoc_builtin ?? (plugin.local as string),
      all: plugins.slice(0, index + 1),
    }));
  },
);

const isHere = (program: string) =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

test("the page has commands for each language that people ask for", () => {
  expect(new Set(languages.map(({ language }) => language))).toEqual(
    new Set(["C#", "Rust", "Ruby", "PHP", "C++"]),
  );
  expect(languages.map(({ name }) => name).sort()).toEqual(Object.keys(MADE).sort());
});

describe.each(languages)("$language", ({ plugin, name, all }) => {
  const title = `${name} makes its part`;
  const missing = all.map(({ local = "protoc" }) => local).filter((program) => !isHere(program));
  if (missing.length > 0) {
    test.skip(`${title} (${missing.join(" and ")}: not on this machine)`);
    return;
  }
  test(title, () => {
    const out = join(scratch, name);
    const template = join(scratch, `${name}.yaml`);
    writeFileSync(template, stringify({ version: "v2", plugins: all }));
    const buf = join(root, "node_modules/.bin/buf");
    const args = ["generate", "--template", template, "--path", "proto/rowlock/v1", "--output", out];
    const { status, stderr } = spawnSync(buf, args, { cwd: root, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    const [file, words] = MADE[name] as readonly [string, string];
    const [found] = globSync(file, { cwd: join(out, plugin.out) });
    expect(found, file).toBeDefined();
    expect(readFileSync(join(out, plugin.out, found as string), "utf8")).toContain(words);
  });
});
