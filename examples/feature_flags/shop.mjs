/**
 * A server in JavaScript: the flag `button` is evaluated for ten users, and some of them buy.
 *
 *     npm ci && node shop.mjs http://127.0.0.1:8000 [KEY]
 */

import { OpenFeature } from '@openfeature/server-sdk';
import { OFREPProvider } from '@openfeature/ofrep-provider';
import { withRewards } from './rewards.mjs';

const [baseUrl, key] = process.argv.slice(2);
const headers = key ? [['Authorization', `Bearer ${key}`]] : [];
const Provider = withRewards(OFREPProvider);
await OpenFeature.setProviderAndWait(new Provider({ baseUrl, headers, rewards: { button: 'bought' } }));
const flags = OpenFeature.getClient();

for (let user = 0; user < 10; user++) {
  const context = { targetingKey: `user ${user}` };
  const colour = await flags.getStringValue('button', 'red', context);
  console.log(`user ${user} sees ${colour}`);
  if (user % 2 === 0) flags.track('bought', context, { value: 1 });
}
await OpenFeature.close(); // waits for the rewards
