import { expect, test } from 'vitest';
import { policyDocumentText } from '../../../../packages/policy/policy-document.ts';
import type { SigningKey } from '../../../../packages/records/trust/key-pair.ts';
import type { TrustChoice } from '../../../../packages/records/trust/process-trust.ts';
import { SeenGenerations } from '../../../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { boundsOf } from '../../../../services/deciders/functions/http/bounds.ts';
import { answerEvents } from '../../../../services/deciders/functions/http/run-function.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { certified, FLEET, newKey, rootsOf, SIGNED_AT_MS, signingWith } from '../../../fixtures/trust.ts';
import { lying, outgoing, type SentEvent, sentEvent } from './support/function-events.ts';
import { openTestFunction, ScriptedSource } from './support/open-function.ts';
import { binaryHeaders } from './support/served-function.ts';

const imageGc = await loadFunction('image-gc');

const [root, operator, decider, node, stranger] = [newKey(), newKey(), newKey(), newKey(), newKey()];
const INVENTORY = inventory({ images: [image('a')] });
const KEYS = [
  certified(root, operator, { role: 'operator' }),
  certified(root, decider),
  certified(root, node, { role: 'node', clusters: [INVENTORY.cluster], nodes: [INVENTORY.node] }),
];
const TRUST: TrustChoice = {
  kind: 'required',
  roots: rootsOf(root),
  signing: signingWith(decider),
  facts: 'required',
  seen: new SeenGenerations(),
  learnsFrom: null,
};
const BOUNDS = boundsOf(imageGc.topics);
const { signal } = new AbortController();

async function openStrictly() {
  const document = policyDocumentText({
    exportedAtMs: SIGNED_AT_MS,
    keys: KEYS,
    policies: [],
    sign: (head) => signRecord(head, { fleet: FLEET, key: operator, generation: SIGNED_AT_MS }),
  });
  if (!document.ok) throw new Error('the document is too large');
  const source = new ScriptedSource(Buffer.from(document.text));
  const opened = await openTestFunction(imageGc, { source, trust: TRUST, now: () => SIGNED_AT_MS });
  return opened.open;
}

/** As KafkaSource sends it: without its key. */
const withoutKey = ({ attributes: { partitionkey: _, ...attributes }, data }: SentEvent): SentEvent => ({
  attributes,
  data,
});

function signedBy(key: SigningKey): SentEvent {
  const record = signRecord(outgoing('inventory', INVENTORY), { fleet: FLEET, key, generation: null });
  return withoutKey(sentEvent({ ...lying('inventory', INVENTORY), ...record }));
}
const UNSIGNED = withoutKey(sentEvent(lying('inventory', INVENTORY)));
const having = ({ attributes, data }: SentEvent, more: Readonly<Record<string, string>>): SentEvent => ({
  attributes: { ...attributes, ...more },
  data,
});

async function answered(event: SentEvent) {
  const rawHeaders = binaryHeaders(event).flat();
  const asked = { mode: 'binary', contentType: 'application/json', wantsBatch: true } as const;
  const open = await openStrictly();
  return await answerEvents({ ...asked, rawHeaders, body: event.data }, { open, bounds: BOUNDS, signal });
}

/** Bytes at which nobody may look. */
const sealed = (bytes: Buffer): Buffer =>
  new Proxy(bytes, {
    get: (_, name) => {
      throw new Error(`somebody looks into it: ${String(name)}`);
    },
  });

test.each<readonly [string, SentEvent, string]>([
  ['no signature', UNSIGNED, 'unsigned'],
  ['half a signature', having(UNSIGNED, { fleetgckeyid: node.keyId }), 'bad-signature'],
  ['the signature of a stranger', signedBy(stranger), 'untrusted-key'],
])(
  'where facts have to be signed, an event with %s is refused before anybody looks into it',
  async (_, event, kind) => {
    const { status, body } = await answered({ ...event, data: sealed(event.data) });
    expect({ status, body: JSON.parse(body.toString('utf8')) }).toMatchObject({
      status: 403,
      body: { type: `urn:fleetgc:problem:${kind}` },
    });
  },
);

test('what its node signed is looked into for its key, and decided on', async () => {
  expect(await answered(signedBy(node))).toMatchObject({ status: 200 });
  await expect(answered({ ...signedBy(node), data: sealed(Buffer.from('{}')) })).rejects.toThrow(
    'somebody looks into it',
  );
});

test.each<readonly [string, Buffer, number]>([
  ['another image', Buffer.from(JSON.stringify({ ...INVENTORY, images: [] })), 403],
  ['another node', Buffer.from(JSON.stringify({ ...INVENTORY, node: 'web-2' })), 403],
  ['no JSON', Buffer.from('{'), 403],
])('bytes that its node did not sign count for nothing: %s', async (_, data, status) => {
  expect(await answered({ ...signedBy(node), data })).toMatchObject({ status });
});
