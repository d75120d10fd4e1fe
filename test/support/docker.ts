// A Docker engine for tests, by its command: whether there is one, whether it has an image, and containers that are
// removed afterwards.

import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const ENGINE_PATIENCE_MS = 5_000;
const PULLING_MS = 240_000;
/** A busy machine builds for minutes. */
const COMMAND_MS = 1_500_000;
const LOOKED_EVERY_MS = 100;

/** Runs a command of docker, and returns what it prints; throws with what it said if it fails. */
export function docker(
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync("docker", args, {
    encoding: "utf8",
    timeout: COMMAND_MS,
    maxBuffer: 2 ** 26,
    ...options,
  });
  if (status === 0) return stdout.trim();
  throw new Error(`docker ${args.join(" ")}: ${error?.message ?? status}\n${stdout}${stderr}`);
}

const works = (args: readonly string[], timeout: number) =>
  spawnSync("docker", args, { stdio: "ignore", timeout }).status === 0;

/** Why tests cannot use Docker with these images; undefined if they can. Pulls images that are missing. */
export function dockerLacks(...images: string[]): string | undefined {
  if (!works(["version"], ENGINE_PATIENCE_MS)) return "no Docker engine answers";
  for (const image of images)
    if (
      !works(["image", "inspect", image], ENGINE_PATIENCE_MS) &&
      !works(["pull", "--quiet", image], PULLING_MS)
    )
      return `the Docker engine neither has ${image} nor can pull it`;
  return undefined;
}

/** The same for tests by compose, whose services find each other by a bridge. */
export function composeLacks(...images: string[]): string | undefined {
  if (!works(["compose", "version"], ENGINE_PATIENCE_MS)) return "there is no docker compose";
  if (!works(["network", "inspect", "bridge"], ENGINE_PATIENCE_MS)) return "the Docker engine has no bridge";
  return dockerLacks(...images);
}

/** Starts a container in the background, and returns its id. */
export function container(...args: string[]): string {
  return docker(["run", "--detach", ...args]);
}

/** Removes a container with its anonymous volumes, running or not. */
export function removed(id: string): void {
  docker(["rm", "--force", "--volumes", id]);
}

/** Waits until the health check of a container says something, and returns it. */
export async function healthOf(id: string): Promise<string> {
  for (;;) {
    const [health = "", state] = docker([
      "inspect",
      "--format",
      "{{.State.Health.Status}} {{.State.Status}}",
      id,
    ]).split(" ");
    if (state !== "running") throw new Error(`${id} is ${state}\n${logOf(id)}`);
    if (health !== "starting") return health;
    await sleep(LOOKED_EVERY_MS);
  }
}

/** What a container has logged on both of its streams. */
export function logOf(id: string): string {
  const { stdout, stderr } = spawnSync("docker", ["logs", id], { encoding: "utf8", timeout: COMMAND_MS });
  return stdout + stderr;
}
