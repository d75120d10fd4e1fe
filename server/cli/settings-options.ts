// Turns the table of settings into flags of commands, and the given flags back into named settings.

import { type Command, Option } from "commander";
import type { RowlockCommand } from "../../clients/shell/command.ts";
import type { CliContext, ExitCode } from "../../clients/shell/context.ts";
import { shown } from "../../clients/shell/print.ts";
import { type ConfigInput, type DatabaseConfig, type Loaded, loadDatabaseConfig } from "../config/config.ts";
import type { SettingKey } from "../config/settings.ts";
import { CONFIG_NAME, DATABASE_KEYS, describeSettings, namesOf } from "../config/settings.ts";
import { parseDatabaseUrl } from "../storage/database-url.ts";
import { StoreError } from "../storage/store.ts";

/** Adds a flag for each setting, or for the named ones. */
export function addSettingOptions(command: Command, names?: readonly string[]): void {
  for (const setting of describeSettings()) {
    if (names && !names.includes(setting.name)) continue;
    const notes = [setting.default === "" ? "" : `default ${setting.default}`, setting.bound].filter(Boolean);
    command.option(`${setting.flag} ${setting.placeholder}`, `${setting.about} (${notes.join("; ")})`);
  }
}

interface DatabaseCommand {
  readonly help: string;
  /** The code with which it ends if its settings are wrong, or if it rejects with a StoreError. */
  readonly failed: ExitCode;
  /** A sentence with a space after it, for operators, before the error's message; or empty. */
  readonly whatFailed: string;
  /** More settings that the command reads, which get flags. */
  readonly keys?: readonly SettingKey[];
}

/** Declares a command that works on a database without a server. */
export function onDatabase(
  command: RowlockCommand,
  context: CliContext,
  { help, failed, whatFailed, keys = [] }: DatabaseCommand,
  run: (config: DatabaseConfig) => Promise<ExitCode>,
): void {
  addSettingOptions(command, [CONFIG_NAME, ...namesOf([...DATABASE_KEYS, ...keys])]);
  command.runs(help, async () => {
    const config = loadedOrReported(loadDatabaseConfig(configInput(command, context)), context);
    if (!config) return failed;
    try {
      return await run(config);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      context.err(`${whatFailed}${shown(error.message)}\n`);
      return failed;
    }
  });
}

export function configInput(command: Command, context: CliContext): ConfigInput {
  const argvFlags: Record<string, string | undefined> = {};
  const options: Record<string, string | true | undefined> = command.opts();
  for (const setting of describeSettings()) {
    const given = options[new Option(setting.flag).attributeName()];
    // `--allow-plaintext` without a value means true.
    argvFlags[setting.name] = given === true ? "true" : given;
  }
  return { argvFlags, env: context.env, readFile: context.readFile, parseDatabaseUrl };
}

export function loadedOrReported<Value>(loaded: Loaded<Value>, context: CliContext): Value | null {
  if (!("faults" in loaded)) return loaded.config;
  const { faults } = loaded;
  const count = faults.length === 1 ? "one of its settings is" : `${faults.length} of its settings are`;
  context.err(`rowlock cannot start: ${count} wrong.\n${faults.map((fault) => `  - ${fault}\n`).join("")}`);
  return null;
}
