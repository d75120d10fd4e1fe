// Reads a text/event-stream from a fetch, because EventSource cannot send a token. Gives the browser a turn between
// messages, so that a flood of them neither freezes the page nor delays a key.

export interface StreamEvent {
  /** "message" unless the stream names another. */
  readonly event: string;
  readonly data: string;
}

/** Longer work without a pause would be noticed. */
const TURN_MS = 12;

/** Calls `hear` with each event, and `alive` with each sign of life, until the stream ends. */
export async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  hear: (event: StreamEvent) => void,
  alive: () => void,
): Promise<void> {
  const parser = new EventParser();
  let turnEndsMs = performance.now() + TURN_MS;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    for (const event of parser.add(value)) {
      hear(event);
      if (performance.now() < turnEndsMs) continue;
      await new Promise((resolve) => setTimeout(resolve));
      turnEndsMs = performance.now() + TURN_MS;
    }
  }
}

/** Puts events together from pieces of text that end anywhere. */
export class EventParser {
  #rest = "";

  *add(text: string): Generator<StreamEvent> {
    const blocks = (this.#rest + text).split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() as string;
    for (const block of blocks) {
      let event = "message";
      const data: string[] = [];
      for (const line of block.split(/\r?\n/)) {
        if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
        else if (line.startsWith("event:")) event = line.slice(6).trim();
      }
      if (data.length > 0) yield { event, data: data.join("\n") };
    }
  }
}
