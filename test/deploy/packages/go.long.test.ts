// The Go modules as `go get` fetches them: by the tags of their folders, from a repository that stands for GitHub. go
// itself makes their zip files.

import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processStage } from "../../process/stage.ts";
import { INSTALLING_MS, needed, pasted, runsFirstProgram } from "../../support/pasted.ts";

const root = join(import.meta.dirname, "../../..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const REPOSITORY = "github.com/rowlock/rowlock";
const MODULE = `${REPOSITORY}/clients/go`;
/** What no checkout has. */
const BUILT = /\/clients\/go\/bin(\/|$)/;
const stage = processStage();

test("both modules are found by their tags, and run the first program", {
  timeout: INSTALLING_MS,
}, async (context) => {
  await needed(stage, "go version && git --version", context);
  const origin = stage.folder();
  const copy = { recursive: true, filter: (path: string) => !BUILT.test(path) };
  cpSync(join(root, "clients/go"), join(origin, "clients/go"), copy);
  // The tags are those of RELEASING.md.
  const tags = [`clients/go/v${version}`, `clients/go/rowlockotel/v${version}`];
  const git = "git -c user.name=x -c user.email=x@example.com -c commit.gpgsign=false";
  const released = `git init -q && git add -A && ${git} commit -qm released${tags.map((tag) => ` && git tag ${tag}`).join("")}`;
  const { code, said } = await pasted(stage, released, origin);
  expect(code, said).toBe(0);

  const cache = (await pasted(stage, "go env GOMODCACHE GOPROXY", origin)).said.trim().split("\n");
  const folder = stage.folder();
  await runsFirstProgram(
    stage,
    ["first.go"],
    `go mod init example.com/first
    go get ${MODULE}@v${version} ${MODULE}/rowlockotel@v${version}
    go mod verify
    go build ${MODULE}/rowlockotel
    go run .`,
    folder,
    {
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `url.file://${origin}.insteadOf`,
      GIT_CONFIG_VALUE_0: `https://${REPOSITORY}`,
      GOPRIVATE: REPOSITORY,
      // A cache of its own, as an earlier run may have left the same version in the usual one, which has the rest. By
      // -trimpath, what was compiled counts wherever it lies.
      GOMODCACHE: join(folder, "modules"),
      GOFLAGS: "-mod=mod -modcacherw -buildvcs=false -trimpath",
      GOPROXY: `file://${cache[0]}/cache/download,${cache[1]}`,
    },
  );
});
