/**
 * OpenFeature providers that report rewards to Turncoat: OFREP's own, with a `track`. For Node.js and for browsers.
 *
 *     const Provider = withRewards(OFREPProvider);           // or OFREPWebProvider
 *     new Provider({ baseUrl, headers, rewards: { button: 'bought' } });
 *
 * `rewards`: flag → the tracking event that rewards it. A hook remembers the decision behind each flag of each
 * targetingKey; `track` tells the reward of those whose flag has the event: `value`, or else 1. Where a flag is evaluated
 * in one process and rewarded in another, hand the decision on: `track(event, …, { value, decision_id })`.
 *
 * In a browser all flags are evaluated at once, before it is known which of them are used. Those decisions are deferred:
 * the hook activates one when its flag is first used, and only from then on can a missing reward count as a failure.
 */

const TRIES = 3;
const FIRST_WAIT = 100; // milliseconds; doubled each time

export function withRewards(Provider) {
  return class extends Provider {
    #rewards;
    #post;
    #decisions = new Map(); // [flag, targetingKey] → decision, the latest last
    #activated = new Set();
    #sending = new Set();
    #remembered;

    constructor({ rewards, remembered = 100_000, ...options }) {
      super(options);
      this.#rewards = Object.entries(rewards);
      this.#remembered = remembered;
      this.#post = (path, body) => post(options, path, body);
      this.hooks = [...(this.hooks ?? []), { after: (context, details) => this.#remember(context, details) }];
    }

    track(event, context, { value = 1, decision_id } = {}) {
      const flags = this.#rewards.filter(([, rewardedBy]) => rewardedBy === event).map(([flag]) => flag);
      const known = flags.map((flag) => this.#decisions.get(place(flag, context?.targetingKey)));
      for (const decision of decision_id ? [decision_id] : known) {
        if (decision === undefined) {
          console.warn(`turncoat: ${event} is not told: its flag was not evaluated here for this targetingKey`);
        } else {
          this.#send(`/v1/decisions/${encodeURIComponent(decision)}/reward`, { value, reward_id: crypto.randomUUID() });
        }
      }
    }

    /** Wait until all rewards so far have been sent, or were given up. */
    async flush() {
      await Promise.all(this.#sending);
    }

    async onClose() {
      await this.flush();
      await super.onClose?.();
    }

    #remember({ flagKey, context }, { flagMetadata }) {
      const decision = flagMetadata?.decision_id;
      if (decision === undefined) return;
      const key = place(flagKey, context.targetingKey);
      this.#decisions.delete(key);
      this.#decisions.set(key, decision);
      forgetOldest(this.#decisions, this.#remembered);
      if (flagMetadata.deferred && !this.#activated.has(decision)) {
        this.#activated.add(decision);
        forgetOldest(this.#activated, this.#remembered);
        this.#send(`/v1/decisions/${encodeURIComponent(decision)}/activate`, {});
      }
    }

    #send(path, body) {
      const sent = this.#post(path, body).catch((problem) => console.error(`turncoat: ${path}: ${problem.message}`));
      this.#sending.add(sent);
      sent.finally(() => this.#sending.delete(sent));
    }
  };
}

function place(flag, targetingKey) {
  return JSON.stringify([flag, targetingKey ?? null]);
}

function forgetOldest(known, most) {
  if (known.size > most) known.delete(known.keys().next().value);
}

/** Sent again if the service cannot be reached: a reward counts once, however often it arrives. */
async function post({ baseUrl, headers, headersFactory, fetchImplementation = fetch }, path, body) {
  let problem;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if (attempt) await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT * 2 ** (attempt - 1)));
    const sent = new Headers(headers);
    for (const [name, value] of new Headers((await headersFactory?.()) ?? {})) sent.set(name, value);
    sent.set('Content-Type', 'application/json');
    try {
      const answer = await fetchImplementation(baseUrl.replace(/\/$/, '') + path, {
        method: 'POST',
        headers: sent,
        body: JSON.stringify(body),
        keepalive: true, // it goes on when the page is left, as by the click that is rewarded
      });
      if (answer.ok) return;
      problem = new Error(await answer.text());
      if (answer.status < 500) break;
    } catch (failed) {
      problem = failed;
    }
  }
  throw problem;
}
