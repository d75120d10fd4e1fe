// Turns the table of settings into flags of commands, and the given flags back into named settings.

import type { Command } from "commander";
import { Option } from "commander";
import type { ConfigInput, Loaded } from "../config/config.ts";
import { describeSettings } from "../config/settings.ts";
import { parseDatabaseUrl } from "../storage/database-url.ts";
import type { CliContext } from "./context.ts";

/** Adds a flag for each setting, or for the named ones. */
export function addSettingOptions(command: Command, names?: readonly string[]): Command {
  for (const setting of describeSettings()) {
    if (names && !names.includes(setting.name)) continue;
    const notes = [setting.default === "" ? "" : `default ${setting.default}`, setting.bound].filter(Boolean);
    command.option(`${setting.flag} ${setting.placeholder}`, `${setting.about} (${notes.join("; ")})`);
  }
  return command;
}

/** Returns the input of loadConfig and loadDatabaseConfig. */
export function configInput(command: Command, context: CliContext): ConfigInput {
  const argvFlags: Record<string, string | undefined> = {};
  const options: Record<string, string | true | undefined> = command.opts();
  for (const setting of describeSettings()) {
    const given = options[new Option(setting.flag).attributeName()];
    // `--allow-plaintext` without a value means true.
    argvFlags[setting.name] = given === true ? "true" : given;
  }
  return { argvFlags, env: context.env, readFile: context.readFile, checkDatabaseUrl: parseDatabaseUrl };
}

/** Returns the configuration, or prints its faults and returns null. */
export function loadedOrTold<Value>(loaded: Loaded<Value>, context: CliContext): Value | null {
  if (!("faults" in loaded)) return loaded.config;
  const { faults } = loaded;
  const count = faults.length === 1 ? "one of its settings is" : `${faults.length} of its settings are`;
  context.err(`rowlock cannot start: ${count} wrong.\n${faults.map((fault) => `  - ${fault}\n`).join("")}`);
  return null;
}
