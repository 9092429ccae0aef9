// Tells the server that the person writes, so that the host can start the agent before the message comes.

const every = 3000;

export class Typing {
  #tell;
  #told; // {conversation, at}: what the server has learned last
  #writes = false; // according to the server

  // tell(conversation, stopped)
  constructor(tell) {
    this.#tell = tell;
  }

  // wrote records that the person has changed the text of a conversation's message.
  wrote(conversation, text) {
    if (!text.trim()) {
      this.stopped();
      return;
    }
    if (this.#told?.conversation === conversation && performance.now() - this.#told.at < every) return;
    this.#told = { conversation, at: performance.now() };
    this.#writes = true;
    this.#tell(conversation, false);
  }

  // stopped records that the message is not written any more.
  stopped() {
    if (!this.#writes) return;
    this.#writes = false;
    this.#tell(this.#told.conversation, true);
  }

  // sent records that the message was sent, which tells the server more.
  sent() {
    this.#writes = false;
    this.#told = undefined;
  }
}
