import { expect, test } from 'vitest';
import type { LogRecord } from '../../../packages/log/port.ts';
import { createKeyPair, readSigningKey } from '../../../packages/records/trust/key-pair.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import type { KeyAct } from '../fleet/keys.ts';
import { judge } from './judge.ts';
import { publicKeyOf, signerOf } from './signatures.ts';
import {
  act,
  aRound,
  certified,
  IMAGE,
  image,
  NODE,
  order,
  removal,
  result,
  revoked,
  T0,
} from './support/a-round.ts';

const ITEMS = [{ kind: 'image', id: IMAGE }];
const truth = [image(1), ...removal(20)];
type Given = Omit<Parameters<typeof aRound>[0], 'truth'>;
const invariantsIn = (given: Given): readonly string[] =>
  judge(aRound({ truth, ...given })).map(({ invariant }) => invariant);

test('an image goes by a command that a key of a decider signed', () => {
  expect(invariantsIn({ orders: [order(ITEMS)] })).toEqual([]);
});

test.each([
  ['that nobody signed', { signedBy: null }],
  ['that another key signed, for which nobody vouches', { signedBy: 'stranger' }],
  ['for another node', { node: 'node-b' }],
  ['that came later', { atMs: T0 + 25_000 }],
])('an image went by a command %s', (_, over) => {
  expect(invariantsIn({ orders: [order(ITEMS, { id: 'other', ...over })] })).toEqual(['signed']);
});

test('an image went that no command names', () => {
  expect(invariantsIn({ orders: [order([])] })).toEqual(['signed']);
});

test('an image went by a command of a key that may sign something else', () => {
  expect(invariantsIn({ keys: [certified(0, { role: 'operator' })] })).toEqual(['signed', 'signed']);
});

test('a key that was revoked counts until nodes must have heard of it', () => {
  expect(invariantsIn({ keys: [certified(0), revoked(15)] })).toEqual([]);
  expect(invariantsIn({ keys: [certified(0), revoked(10)] })).toEqual(['signed']);
});

test('a node that could not hear of it is forgiven', () => {
  const frozen = { kind: 'freeze', part: `${NODE}/node-executor`, atMs: 8_000, forMs: 8_000 } as const;
  expect(invariantsIn({ keys: [certified(0), revoked(10)], faults: [frozen] })).toEqual([]);
  const lost = { kind: 'keys-lost', atMs: 8_000, forMs: 8_000 } as const;
  expect(invariantsIn({ keys: [certified(0), revoked(10)], faults: [lost] })).toEqual([]);
});

test('a revocation that nobody could publish yet counts for nobody', () => {
  const unpublished: KeyAct = { ...revoked(2), endedMs: null };
  expect(invariantsIn({ keys: [certified(0), unpublished] })).toEqual([]);
});

test('a key that has ended counts no more, and again once it was certified anew', () => {
  const ended = certified(0, { untilS: 10 });
  expect(invariantsIn({ keys: [ended] })).toEqual(['signed']);
  expect(invariantsIn({ keys: [ended, certified(12)] })).toEqual([]);
  expect(invariantsIn({ keys: [certified(0), certified(2, { untilS: 10 })] })).toEqual(['signed']);
});

test('a key ends by the clock of the node', () => {
  const keys = [certified(0, { untilS: 100 })];
  expect(invariantsIn({ keys, clock: [{ atMs: T0 + 5_000, offsetMs: 3_600_000 }] })).toEqual(['signed']);
  const isBack = [
    { atMs: T0 + 5_000, offsetMs: 3_600_000 },
    { atMs: T0 + 16_000, offsetMs: 0 },
  ];
  expect(invariantsIn({ keys, clock: isBack })).toEqual([]);
  expect(
    invariantsIn({ keys: [certified(0, { untilS: 10 })], clock: [{ atMs: T0, offsetMs: -60_000 }] }),
  ).toEqual([]);
});

test('a clock that is set back does not bring back a key, once the node has read what was said later', () => {
  const keys = [certified(0, { untilS: 10 }), certified(12, { keyId: 'spare' })];
  expect(invariantsIn({ keys, clock: [{ atMs: T0 + 11_000, offsetMs: -3_600_000 }] })).toEqual(['signed']);
});

test('a command that nobody signed is never carried out, also where another one names the same', () => {
  const orders = [order(ITEMS), order(ITEMS, { id: 'forged', signedBy: null })];
  expect(invariantsIn({ orders, results: [result({ commandId: 'forged' })] })).toEqual(['signed']);
});

test('what a stolen key has put into force holds everything until it is signed anew', () => {
  const held = act(5, { policy: null, paused: [] });
  const before = act(0, { policy: 'usual', paused: [] });
  expect(invariantsIn({ acts: [before, held] })).toEqual(['policy']);
  expect(invariantsIn({ acts: [before, held, act(18, { policy: 'usual', paused: [] })] })).toEqual([]);
});

test('audit tells of everything that no good key signed, and of nothing else as such', () => {
  const place = 'gc.node.commands/0@3';
  const told = { kind: 'not-trusted', node: NODE, message: 'it carries no signature', places: [place] };
  expect(invariantsIn({ audit: [told], distrusted: [place] })).toEqual([]);
  expect(invariantsIn({ audit: [told] })).toEqual(['audit']);
  expect(invariantsIn({ audit: [told], tainted: [place] })).toEqual(['audit']);
  expect(invariantsIn({ audit: [], distrusted: [place] })).toEqual(['audit']);
});

test('a statement of a strange root is told of without a place', () => {
  const told = { kind: 'not-trusted', node: null, message: 'gc.keys, offset 9: it is no root', places: [] };
  const forged = (signature: 'stranger' | 'self-certified') =>
    ({ kind: 'forge', node: NODE, forgery: 'greedy-command', signature, atMs: 0, forMs: 0 }) as const;
  expect(invariantsIn({ audit: [told], faults: [forged('self-certified')] })).toEqual([]);
  expect(invariantsIn({ audit: [told], faults: [forged('stranger')] })).toEqual(['audit']);
});

test('a signature is that of one key, over one record of one fleet', () => {
  const key = readSigningKey(createKeyPair().privateKeyPem, 'a test');
  const keys = new Map([[key.keyId, publicKeyOf(key.publicKey)]]);
  const outgoing = {
    topic: 'gc.node.commands',
    key: 'chaos/node-a',
    value: Buffer.from('{}'),
    headers: {},
  } as const;
  const signed = signRecord(outgoing, { fleet: 'chaos', key, generation: null });
  const record: LogRecord = { ...signed, partition: 0, offset: 0n, timestampMs: T0 };
  expect(signerOf(record, keys, 'chaos')).toBe(key.keyId);
  for (const other of [
    { ...record, key: 'chaos/node-b' },
    { ...record, value: Buffer.from('[]') },
    { ...record, topic: 'gc.node.observe' as const },
    { ...record, headers: {} },
  ])
    expect(signerOf(other, keys, 'chaos')).toBeNull();
  expect(signerOf(record, keys, 'other')).toBeNull();
  expect(signerOf(record, new Map(), 'chaos')).toBeNull();
});
