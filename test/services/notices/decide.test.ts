import { describe, expect, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import {
  MAX_NOTICE_FACT_LENGTH,
  MAX_NOTICE_TEXT_LENGTH,
  NOTICE_KIND_NAMES,
} from '../../../schemas/notices/notice.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import { pauseKey } from '../../../schemas/policy/policy.ts';
import { noticesOf } from '../../../services/notices/notices.ts';
import { approval, approvedOwner } from '../../fixtures/approval.ts';
import { census } from '../../fixtures/census.ts';
import {
  clusterCommandResult,
  clusterDecision,
  clusterObject,
  clusterObjectResults,
  clusterPolicyRecord,
} from '../../fixtures/cluster.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { observe } from '../../fixtures/observe.ts';
import { decision } from '../../fixtures/outputs.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { deletionRecord, pauseRecord, policyRecord } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { objectResult, pressureUnrelieved, refusedCommand } from '../../fixtures/results.ts';
import { AT_MS } from './support/notice-of.ts';

const begun = observe({ reclaim: reclaim({ step: 'containers' }) });
const done = (removed: number, over: object = {}) =>
  refusedCommand({
    result: {
      outcome: 'done',
      removed,
      notFound: 0,
      refused: 0,
      failed: 0,
      notNeeded: 0,
      notDone: 0,
      measured: { filesystem: 'imagefs', beforeBytes: '1000', afterBytes: '2100001000' },
      estimatedBytes: null,
      targetReached: null,
      ...over,
    },
  });
const passFailed: FleetEvent = {
  ...objectResult(),
  type: 'fleetgc.node.pass-failed',
  id: 'failed-1',
  problem: 'image-gc-failed',
  removed: 1,
  failed: 2,
  measured: null,
  target: null,
  message: '2 images could not be removed',
};
const wide = {
  ownerUid: 'u',
  ownerKind: 'apps/Deployment',
  ownerName: 'web',
  ownerNamespace: 'shop',
  objects: 240,
  limit: 100,
};
const policies = policySet(
  'cluster',
  [clusterPolicyRecord({ limits: { cascade: 100, cascadeOfKind: 9_000, removalsPerHour: 100 } })],
  [],
);
const DEPLOYMENT = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  resource: 'deployments',
  namespaced: true,
};
const GONE = { state: 'gone', gone: { how: 'watched', orphaned: false } } as const;
/** An object that goes with so many others. */
const going = (uid: string, ownerUid: string) =>
  candidate({
    object: { uid, name: uid, namespace: 'shop' },
    references: [
      owner(ownerUid, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: 'web',
        resolved: DEPLOYMENT,
        ...GONE,
      }),
    ],
    cascades: [{ ownerUid, ownerKind: 'apps/Deployment', objects: 240, ofKind: 240, within: null }],
  });
const held = ownership({ candidates: [going('a', 'u'), going('b', 'u')] });
/** With nothing but the deciders' Kafka credentials. */
const forged = clusterDecision({
  verdicts: [0, 1].map((position) => ({ position, action: 'hold', rule: 'S1', facts: wide })),
});
const deadLetter: FleetEvent = {
  type: 'fleetgc.dead-letter',
  version: 1,
  id: 'letter-1',
  cause: 'wrong-schema',
  message: 'the value has no type',
  group: 'fleetgc-image-gc',
  topic: 'gc.node.inventory',
  partition: 3,
  offset: '7',
  timestampMs: AT_MS,
  key: Buffer.from('prod/web-1').toString('base64'),
  value: null,
  headers: {},
  omittedBytes: 0,
  suppressedBefore: 0,
};

const EXAMPLES: readonly (readonly [event: FleetEvent, told: readonly string[]])[] = [
  [
    begun,
    [
      'pressure | prod/web-1: imageGC met its threshold: it is at 90%, and the threshold of policy default is 85%. A reclaim began',
    ],
  ],
  [done(3), ['removed | prod/web-1: 3 images were removed, and 2.1 GB became available']],
  [passFailed, ['failed | prod/web-1: 2 images could not be removed']],
  [
    pressureUnrelieved(),
    [
      'unrelieved | prod/web-1: a reclaim for imageGC ended above its target: imagefs has 100 B, and should have 200 B. What holds the space: in-use 2 (700 B)',
    ],
  ],
  [
    decision({
      outcome: 'too-costly',
      policy: { name: 'default', version: 1, hash: 'b'.repeat(64), setHash: '' },
    }),
    [
      'too-costly | prod/web-1: image-gc decided nothing under policy default: the decision would take too many steps, so everything is kept. fleetgc status tells on which nodes, and fleetgc audit explain what the decision said. No signature proves this',
    ],
  ],
  [
    refusedCommand({ result: { outcome: 'refused', reason: 'not-trusted', message: 'no key' } }),
    ['distrusted | prod/web-1: a command was refused (not-trusted): no key'],
  ],
  [clusterCommandResult(), ['objects-removed | c1: 1 object was removed']],
  [
    clusterCommandResult({ result: { outcome: 'done', counts: { failed: 2 } } }),
    ['objects-failed | c1: 2 removals failed; fleetgc audit explain tells why of an object'],
  ],
  [
    held,
    [
      'held | c1: 2 objects are held by rule S1 because of apps/Deployment shop/web: more than 100 objects. fleetgc held tells how to let them go. No signature proves this',
    ],
  ],
  [
    clusterObjectResults({
      objects: [
        {
          object: clusterObject(),
          rule: 'D14',
          action: 'delete',
          attempts: 0,
          requests: 0,
          owners: [],
          result: {
            outcome: 'refused',
            reason: 'not-approved',
            message: '',
            hold: { rule: 'S1', facts: wide },
          },
        },
      ],
    }),
    [
      'held | c1: 1 object is held by rule S1 because of apps/Deployment shop/web: more than 100 objects. fleetgc held tells how to let them go. No signature proves this',
    ],
  ],
  [
    census({
      stuckFinalizers: {
        count: 1,
        first: [
          {
            object: { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'u' },
            deletionTimestamp: '2026-01-01T00:00:00Z',
            finalizers: ['example.com/hold'],
          },
        ],
      },
    }),
    [
      'stuck | c1: apps/Deployment shop/web is being deleted since 2026-01-01T00:00:00Z and waits for the finalizers example.com/hold. No signature proves this',
    ],
  ],
  [pauseRecord(), ['paused | somebody paused removals on all nodes: an incident is being looked into']],
  [
    deletionRecord(pauseKey(pauseRecord().selector)),
    ['resumed | somebody ended the pause on all nodes: no reason was given'],
  ],
  [
    approval(approvedOwner('u', 3), { untilMs: AT_MS }),
    ['approved | c1: somebody approved owner u until 2026-01-01T00:00:00Z: looked at it'],
  ],
  [
    deletionRecord(approvalKey(approval(approvedOwner('u', 3)))),
    [
      'approval-withdrawn | c1: somebody withdrew an approval: no reason was given (!approval ["c1","owner","u"])',
    ],
  ],
  [policyRecord(), ['policy-applied | policy default was applied for all nodes: version 7, mode enforce']],
  [
    clusterPolicyRecord(),
    ['policy-applied | policy default was applied for all clusters: version 1, mode enforce'],
  ],
  [
    deletionRecord('default'),
    [
      'policy-deleted | somebody deleted policy default; what no other policy selects keeps everything: no reason was given',
    ],
  ],
  [
    deadLetter,
    [
      'dead-letter | prod/web-1: a message on gc.node.inventory could not be processed by fleetgc-image-gc (wrong-schema): the value has no type',
    ],
  ],
  [
    { type: 'fleetgc.dead-letter-redrive', version: 1, id: 'r', deadLetterId: 'letter-1', key: null },
    ['redriven | somebody put the message of dead letter letter-1 back'],
  ],
  [
    { ...pauseRecord({ reason: 'a fire' }), by: 'ann' },
    ['paused | ann paused removals on all nodes: a fire'],
  ],
  [
    { ...deletionRecord(pauseKey(pauseRecord().selector)), by: 'ann', reason: 'it is out' },
    ['resumed | ann ended the pause on all nodes: it is out'],
  ],
  // What is everyday.
  [observe({ reclaim: reclaim({ step: 'images', round: 1 }) }), []],
  [observe({ reclaim: reclaim({ step: 'containers', round: 2 }) }), []],
  [done(0), []],
  [refusedCommand(), []],
  [deletionRecord('default', false), []],
  [clusterDecision(), []],
  [forged, []],
  [ownership({ candidates: [candidate()] }), []],
  [diskStats(), []],
  [decision(), []],
  [objectResult(), []],
];

const KNOWN = { policies, isSigned: false };

const told = (event: FleetEvent): readonly string[] =>
  noticesOf(event, AT_MS, KNOWN).map(({ kind, text }) => `${kind} | ${text}`);

test.each(EXAMPLES.map(([event, expected]) => [event.type, event, expected] as const))(
  '%s tells what it should',
  (_, event, expected) => {
    expect(told(event).map((text) => text.replaceAll('prod/node-1', 'prod/web-1'))).toEqual(expected);
  },
);

test('what is held that a key signed is told without a doubt, and without policies nobody knows what is held', () => {
  const [notice] = noticesOf(held, AT_MS, { policies, isSigned: true });
  expect(notice?.text).toMatch(/fleetgc held tells how to let them go$/);
  expect(noticesOf(held, AT_MS, { policies: null, isSigned: true })).toEqual([]);
});

test('each kind that an event tells has an example; silence is told by a clock', () => {
  const kinds = new Set(EXAMPLES.flatMap(([, expected]) => expected.map((text) => text.split(' ')[0])));
  expect(NOTICE_KIND_NAMES.filter((kind) => !kinds.has(kind))).toEqual([
    'silent',
    'heard-again',
    'cluster-silent',
    'cluster-heard-again',
    'undecided',
    'decided-again',
    'log-silent',
    'log-heard-again',
  ]);
});

describe('the id of a notice', () => {
  test('is that of the same event again, whenever it comes', () => {
    const [once] = noticesOf(done(3), AT_MS, KNOWN);
    const [again] = noticesOf(done(3), AT_MS + 5, KNOWN);
    expect(again?.id).toBe(once?.id);
  });

  test('differs by event, by kind, and by what of the event it tells', () => {
    const both = clusterCommandResult({ result: { outcome: 'done', counts: { removed: 1, failed: 1 } } });
    const two = ownership({ candidates: [going('a', 'u'), going('b', 'v')] });
    const ids = [both, { ...both, id: 'another' }, two].flatMap((event) =>
      noticesOf(event, AT_MS, KNOWN).map(({ id }) => id),
    );
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
  });
});

describe('what others wrote', () => {
  test('stays one line of text, and no longer than it may be', () => {
    const [notice] = noticesOf(
      pauseRecord({ reason: `\u001b[2J\n\u202e${'x'.repeat(2_000)}` }),
      AT_MS,
      KNOWN,
    );
    expect(notice?.text).toContain('\\u{1b}[2J\\u{a}\\u{202e}');
    expect(notice?.text).toHaveLength(MAX_NOTICE_TEXT_LENGTH);
  });

  test('is no longer in a fact than it may be', () => {
    const letter = { ...deadLetter, topic: 'x'.repeat(1_000_000), group: `a\n${'\u{1f600}'.repeat(1_000)}` };
    const [notice] = noticesOf(letter, AT_MS, KNOWN);
    expect(notice?.facts.topic).toHaveLength(MAX_NOTICE_FACT_LENGTH);
    expect(notice?.facts.group).toMatch(/^a\\u\{a\}/);
    expect(String(notice?.facts.group).isWellFormed()).toBe(true);
  });

  test('names no node where the key of a dead letter is none', () => {
    for (const key of ['a/b/c', '../x', '', 'prod/we b'])
      expect(
        noticesOf({ ...deadLetter, key: Buffer.from(key).toString('base64') }, AT_MS, KNOWN),
      ).toMatchObject([{ cluster: null, node: null }]);
  });

  test('makes no more than twenty holds of one decision', () => {
    const many = ownership({
      candidates: Array.from({ length: 500 }, (_, number) => going(`x${number}`, `u${number}`)),
    });
    expect(noticesOf(many, AT_MS, KNOWN)).toHaveLength(20);
  });
});

test('[P10] a cluster fact that is too costly to decide under the active policies is told', () => {
  const forged = Array.from({ length: 100_000 }, (_, index) => `g/Kind${index}`);
  const known = {
    policies: policySet('cluster', [clusterPolicyRecord({ heldKinds: forged })], []),
    isSigned: true,
  };
  const candidates = Array.from({ length: 40 }, (_, index) => going(`u${index}`, 'u'));
  const told = noticesOf(ownership({ candidates }), AT_MS, known);
  expect(told.map(({ kind, text }) => `${kind} | ${text}`)).toEqual([
    'too-costly | c1: graph-gc decides nothing: the decision would take too many steps, so everything is kept. fleetgc status tells on which clusters',
  ]);
});
