// What registries show of the packages: each names the repository, and its page leads back to it. The Python client's
// page is its README with absolute links (`clients/python/pyproject.toml`); npm and pkg.go.dev make them absolute.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const URL_OF_ALL = "https://github.com/rowlock/rowlock";

test.each([
  ["package.json", undefined],
  ["clients/typescript/package.json", "clients/typescript"],
])("%s names its source, its page and where to report a bug", (path, directory) => {
  const { repository, homepage, bugs, keywords, description, license } = JSON.parse(read(path));
  expect(repository).toEqual({ type: "git", url: `git+${URL_OF_ALL}.git`, ...(directory && { directory }) });
  expect(homepage).toBe(`${URL_OF_ALL}${directory ? `/tree/main/${directory}` : ""}#readme`);
  expect(bugs).toBe(`${URL_OF_ALL}/issues`);
  expect(keywords).toEqual(expect.arrayContaining(["lock", "mutex", "semaphore", "lease", "fencing"]));
  expect([description.length > 20, license]).toEqual([true, "Apache-2.0"]);
});

test("the Python client names them, too, and makes each link of its page absolute", () => {
  const project = read("clients/python/pyproject.toml");
  for (const name of ["Homepage", "Documentation", "Repository", "Issues", "Changelog"])
    expect(project).toMatch(new RegExp(`^${name} = "${URL_OF_ALL}`, "m"));
  const [, pattern = "", replacement = ""] = /pattern = '(.*)', replacement = '(.*)'/.exec(project) ?? [];
  const page = read("clients/python/README.md").replace(
    new RegExp(pattern, "g"),
    replacement.replace("\\1", "$1"),
  );
  const links = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
  expect(links.length).toBeGreaterThan(3);
  expect(links.filter((target) => !/^(https:\/\/|#)/.test(target))).toEqual([]);
});

test("the Java client and the Go client name the repository", () => {
  const pom = read("clients/java/pom.xml");
  for (const element of [
    `<url>${URL_OF_ALL}</url>`,
    `scm:git:${URL_OF_ALL}.git`,
    `<url>${URL_OF_ALL}/issues</url>`,
  ])
    expect(pom).toContain(element);
  expect(read("clients/go/go.mod")).toContain(`module ${URL_OF_ALL.replace("https://", "")}/clients/go`);
});
