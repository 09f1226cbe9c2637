// What the server is asked for: documents, and the stream of estimates.

/** What the server refused, with its sentence. */
export class Refused extends Error {}

async function answerOf(path, query, signal) {
  let answer;
  try {
    answer = await fetch(`${path}?${query}`, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("crawlsim explore no longer answers: start it again, and open the address that it prints");
  }
  if (!answer.ok) throw new Refused(await answer.text());
  return answer;
}

/** A document. */
export async function documentOf(path, query, signal) {
  return (await answerOf(path, query, signal)).json();
}

/** The events of a stream; only one is open at any time. */
export class Stream {
  #open = null;

  /**
   * Open it, after closing the one before.
   * @param {URLSearchParams} query
   * @param {{event: function(object), done: function(), refused: function(string)}} hear
   */
  async open(query, hear) {
    this.close();
    const open = new AbortController();
    this.#open = open;
    try {
      const answer = await answerOf("/api/stream", query, open.signal);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done || open.signal.aborted) break;
        const messages = (text + value).split("\n\n");
        text = messages.pop();
        for (const message of messages) {
          if (message.startsWith("data: ")) hear.event(JSON.parse(message.slice(6)));
          if (open.signal.aborted) return;
        }
      }
      if (this.#open === open) hear.done();
    } catch (error) {
      if (open.signal.aborted) return;
      hear.refused(error instanceof Refused ? error.message : "the stream broke off");
    } finally {
      if (this.#open === open) this.#open = null;
    }
  }

  /** End it: the server rests. */
  close() {
    this.#open?.abort();
    this.#open = null;
  }
}
