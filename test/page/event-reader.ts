// Reads the server-sent events of a watch as a browser's script does.

import type { IncomingMessage } from "node:http";
import { refuseSecrets } from "../support/secrets.ts";
import { withReason } from "./connect-errors.ts";

/** Tests compare answers as they are. */
// biome-ignore lint/suspicious/noExplicitAny: its shape is what the tests are about
export type Json = any;

interface SentEvent {
  /** Empty: a message. */
  readonly kind: string;
  readonly data: Json;
}

export class EventReader {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** What has arrived, in order. */
  readonly events: SentEvent[] = [];
  /** Comments: signs of life. */
  signs = 0;
  /** Resolves when the stream has ended; true: in good order, as the server ends it. */
  readonly ended: Promise<boolean>;
  readonly #answer: IncomingMessage;
  #text = "";
  #waiting: (() => void)[] = [];

  constructor(answer: IncomingMessage) {
    this.#answer = answer;
    this.status = answer.statusCode ?? 0;
    this.headers = answer.headers;
    const ended = Promise.withResolvers<boolean>();
    this.ended = ended.promise;
    answer.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    answer.once("close", () => {
      ended.resolve(answer.complete);
      this.#tell();
    });
    answer.on("error", () => {});
  }

  /** Locks that messages have shown, by name, as they were last. */
  get locks(): ReadonlyMap<string, Json> {
    return new Map(
      this.events
        .flatMap(({ kind, data }) => (kind === "" ? (data.locks ?? []) : []))
        .map((lock) => [lock.name, lock]),
    );
  }

  /** Resolves as soon as it fits; rejects if the stream ends before. */
  async until(fits: (reader: this) => boolean): Promise<void> {
    while (!fits(this)) {
      if (this.#answer.closed) throw new Error("The watch has ended.");
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The body of the event that ends the watch. */
  async end(): Promise<Json> {
    await this.ended;
    return withReason(this.events.find(({ kind }) => kind === "end")?.data);
  }

  /** The answer of a watch that is refused before it begins. */
  async refusal(): Promise<Json> {
    await this.ended;
    return withReason(JSON.parse(this.#text));
  }

  /** Goes away. */
  leave(): void {
    this.#answer.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    const blocks = this.#text.split("\n\n");
    this.#text = blocks.pop() as string;
    for (const block of blocks) this.#block(block);
    this.#tell();
  }

  #block(block: string): void {
    refuseSecrets(block, "A watch of the page");
    if (block === ":") {
      this.signs += 1;
      return;
    }
    const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    this.events.push({ kind: fields.event ?? "", data: JSON.parse(fields.data ?? "null") });
  }

  #tell(): void {
    for (const tell of this.#waiting.splice(0)) tell();
  }
}
