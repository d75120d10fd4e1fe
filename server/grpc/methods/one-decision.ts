// A method that is one decision of the engine: admitted, asked, and answered in the tick of the commit, without a promise.

import type { Asker } from "../../engine/answers.ts";
import type { Turn } from "../admission.ts";
import type { Call, Reply } from "../call.ts";

export abstract class OneDecision<Given, Message> implements Turn, Asker<Given> {
  readonly call: Call;
  readonly #reply: Pick<Reply<Message>, "answer" | "fail">;
  #over = () => {};

  /** `reply`: the call itself, or the part of it that this decision is for. */
  constructor(call: Call, reply: Pick<Reply<Message>, "answer" | "fail">) {
    this.call = call;
    this.#reply = reply;
  }

  /** Throws OVERLOADED. */
  enter(): void {
    try {
      this.call.client.admission.enter(this);
    } catch (error) {
      this.ended(null);
      throw error;
    }
  }

  begin(over: () => void): void {
    this.#over = over;
    this.ask();
  }

  drop(why: unknown): void {
    this.fail(why);
  }

  settle(given: Given): void {
    try {
      const message = this.messageOf(given);
      if (message instanceof Promise) this.#answerLater(message);
      else this.#reply.answer(message);
    } catch (error) {
      this.#reply.fail(error);
    }
    this.ended(given);
    this.#over();
  }

  fail(error: unknown): void {
    this.#reply.fail(error);
    this.ended(null);
    this.#over();
  }

  #answerLater(message: Promise<Message>): void {
    message.then(
      (found) => this.#reply.answer(found),
      (error: unknown) => this.#reply.fail(error),
    );
  }

  /** Asks the engine. Throws nothing. */
  protected abstract ask(): void;
  /** The answer; a promise if it needs a further read. Throws what the call fails with. */
  protected abstract messageOf(given: Given): Message | Promise<Message>;
  /** The decision is over; null: it was not made. */
  protected abstract ended(given: Given | null): void;
}
