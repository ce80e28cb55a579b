import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MAX_LETTER_VALUE_BYTES } from '../../packages/records/dead-letters/dead-letters.ts';
import { parseJson } from '../../packages/records/parse/parse-record.ts';
import { MAX_CLUSTER_COMMAND_ITEMS } from '../../schemas/events/cluster-command.ts';
import { MAX_MANIFEST_BYTES, MAX_OWNERS_SAVED } from '../../schemas/events/cluster-removed.ts';
import { MAX_OWNERS_TOLD } from '../../schemas/events/cluster-result.ts';
import { MAX_COMMAND_ITEMS, MAX_OBJECT_ID_LENGTH } from '../../schemas/events/command.ts';
import type { DeadLetter } from '../../schemas/events/dead-letter.ts';
import type { Verdict } from '../../schemas/events/decision.ts';
import type { Bucket } from '../../schemas/events/disk-stats.ts';
import { MAX_EVENT_ID_LENGTH } from '../../schemas/events/event-id.ts';
import { MAX_EXPIRING } from '../../schemas/events/expiry.ts';
import { LARGEST_UINT64 } from '../../schemas/events/filesystem.ts';
import { MOST_SUMS } from '../../schemas/events/head.ts';
import { MAX_INVENTORY_OBJECTS } from '../../schemas/events/inventory.ts';
import { Observe } from '../../schemas/events/observe.ts';
import { MAX_CANDIDATE_REFERENCES, MAX_CANDIDATES } from '../../schemas/events/ownership.ts';
import { MAX_POD_CANDIDATES } from '../../schemas/events/pods.ts';
import { MAX_CAUSE_TEXT_LENGTH, type ReclaimCause } from '../../schemas/events/reclaim.ts';
import { MAX_BOOT_ID_LENGTH } from '../../schemas/events/time.ts';
import { type EventOf, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { MAX_GLOB_CHARACTERS, MAX_GLOBS } from '../../schemas/policy/glob.ts';
import type { PolicySetRecord } from '../../schemas/policy/policy-set.ts';
import { fullCensus } from '../fixtures/census.ts';
import {
  clusterCommand,
  clusterDecision,
  clusterItem,
  clusterObject,
  clusterObjectResults,
  clusterRemoved,
} from '../fixtures/cluster.ts';
import { imageRemoval } from '../fixtures/command.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { expiry, expiryCandidate, requestFacts } from '../fixtures/expiry.ts';
import { container, image, inventory } from '../fixtures/inventory.ts';
import { latestNodeFact } from '../fixtures/latest-fact.ts';
import { observe } from '../fixtures/observe.ts';
import { decision } from '../fixtures/outputs.ts';
import { candidate, owner, ownership } from '../fixtures/ownership.ts';
import { DELETED_AT, podCandidate, pods } from '../fixtures/pods.ts';
import { EVERY_NODE, keepList, pauseRecord, policyRecord } from '../fixtures/policy.ts';
import { reclaim } from '../fixtures/reclaim.ts';
import { pressureUnrelieved } from '../fixtures/results.ts';
import { instant } from '../fixtures/time.ts';
import { verdictsOf } from '../fixtures/verdicts.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
/** Each takes three bytes in UTF-8. */
const text = (length: number): string => '語'.repeat(length);
const DIGEST = `sha256:${'a'.repeat(64)}`;

const bucket = (index: number): Bucket => [index * 60_000, LARGEST_UINT64, LARGEST_UINT64, LARGEST_UINT64];
const history = { availableBytes: many(125, bucket), inodesFree: many(125, bucket) };

const reference = (index: number): string => `registry.example/a-team/with-a-name/service-${index}`;
const images = many(MAX_INVENTORY_OBJECTS / 2, (index) =>
  image(`sha256:${String(index).padStart(64, '0')}`, {
    repoTags: many(3, (tag) => `${reference(index)}:${tag}`),
    repoDigests: [`${reference(index)}@${DIGEST}`],
    labels: Object.fromEntries(many(5, (label) => [`com.example.label-${label}`, 'some value of it'])),
  }),
);
const containers = many(MAX_INVENTORY_OBJECTS / 2, (index) => container(String(index).padStart(64, '0')));
const verdict = (_: unknown, position: number): Omit<Verdict, 'kind'> => ({
  position,
  action: 'keep',
  rule: 'D10',
  facts: Object.fromEntries(many(8, (fact) => [`fact${fact}`, DIGEST])),
});

/** All patterns of a policy together have a bound of their own. */
const globs = many(MAX_GLOBS, () => text(MAX_GLOB_CHARACTERS / MAX_GLOBS / 2));
const selector = { ...EVERY_NODE, nodeNames: globs };
const keep = keepList({ patterns: globs, namespaces: many(1_000, () => 'n'.repeat(63)) });

const set: PolicySetRecord = {
  type: 'fleetgc.policy-set',
  version: 1,
  id: 'policy-set-1',
  hash: 'a'.repeat(64),
  policies: many(1_000, (index) => ({
    name: `${'p'.repeat(60)}${index}`,
    policyVersion: 1,
    hash: 'b'.repeat(64),
  })),
  pauses: many(20, () => pauseRecord({ selector })),
};

const letter: DeadLetter = {
  type: 'fleetgc.dead-letter',
  version: 1,
  id: 'dead-letter-1',
  cause: 'not-json',
  message: text(1_000),
  group: 'fleetgc-image-gc',
  topic: 'gc.node.inventory',
  partition: 1,
  offset: '1',
  timestampMs: 1,
  key: 'a'.repeat(1_000),
  value: Buffer.alloc(MAX_LETTER_VALUE_BYTES).toString('base64'),
  headers: Object.fromEntries(many(100, (index) => [`header-${index}`, '\u0001'.repeat(30_000)])),
  omittedBytes: 0,
  suppressedBefore: 0,
};

/** Each takes six bytes in JSON. */
const longest = (length: number): string => '\u0001'.repeat(length);
/** Whatever a node writes into its facts, which orders repeat. */
const ofALongReclaim = {
  takenAt: instant({ bootId: longest(MAX_BOOT_ID_LENGTH) }),
  reclaim: reclaim({
    id: longest(MAX_EVENT_ID_LENGTH),
    cause: {
      signal: longest(MAX_CAUSE_TEXT_LENGTH),
      threshold: longest(MAX_CAUSE_TEXT_LENGTH),
      reading: longest(MAX_CAUSE_TEXT_LENGTH),
      policy: longest(MAX_CAUSE_TEXT_LENGTH),
      eventId: longest(MAX_EVENT_ID_LENGTH),
    },
  }),
};

/** Names of objects are ASCII, whatever their kind. */
const LONG_NAMES = { namespace: 'n'.repeat(63), name: 'n'.repeat(253), uid: 'u'.repeat(36) };
const LARGE_ITEM = clusterItem({
  object: clusterObject(LONG_NAMES),
  act: { action: 'drop-references', ownerUids: many(MAX_CANDIDATE_REFERENCES / 20, () => 'u'.repeat(36)) },
});

/** The largest of each topic that our own services write for a large fleet with large nodes. */
const LARGEST: { readonly [Id in TopicId]: EventOf<Id> } = {
  diskStats: diskStats({}, { history: { nodefs: history, imagefs: history, containerfs: history } }),
  inventory: inventory({ images, containers }),
  observe: observe({ id: longest(MAX_EVENT_ID_LENGTH), ...ofALongReclaim }),
  commands: imageRemoval(
    many(MAX_COMMAND_ITEMS, () => 'i'.repeat(MAX_OBJECT_ID_LENGTH)),
    {
      ...ofALongReclaim,
      id: longest(MAX_EVENT_ID_LENGTH),
      decisionId: longest(MAX_EVENT_ID_LENGTH),
      inventoryId: longest(MAX_EVENT_ID_LENGTH),
      holders: many(20, () => ({ reason: 'in-use', objects: 1, bytes: 1 })),
    },
  ),
  results: pressureUnrelieved({ holders: many(20, () => ({ reason: 'in-use', objects: 1, bytes: 1 })) }),
  decisions: decision({
    verdicts: verdictsOf({ container: containers.map(verdict), image: images.map(verdict) }),
  }),
  clusterOwnership: ownership({
    unsyncedKinds: many(1_000, () => ({
      group: 'g'.repeat(100),
      kind: 'k'.repeat(50),
      reason: 'r'.repeat(500),
    })),
    settled: many(MAX_CANDIDATES, () => ({ ...clusterObject(LONG_NAMES), how: 'gone' })),
    candidates: many(MAX_CANDIDATES, () =>
      candidate({ object: LONG_NAMES, references: [owner('o'), owner('p')] }),
    ),
  }),
  clusterPods: pods({
    candidates: many(MAX_POD_CANDIDATES, () =>
      podCandidate({
        object: { ...LONG_NAMES, deletionTimestamp: DELETED_AT, finalizers: [text(100)] },
        node: { state: 'missing', name: 'n'.repeat(253), missingForMs: 100_000 },
      }),
    ),
  }),
  clusterExpiry: expiry({
    candidates: many(MAX_EXPIRING, () =>
      expiryCandidate({
        object: LONG_NAMES,
        facts: requestFacts({ conditions: many(4, () => ({ type: text(20), updatedAtMs: 1 })) }),
      }),
    ),
  }),
  clusterCommands: clusterCommand({ items: many(MAX_CLUSTER_COMMAND_ITEMS, () => LARGE_ITEM) }),
  clusterRemoved: clusterRemoved({
    owners: many(MAX_OWNERS_SAVED, () => ({
      apiVersion: 'v'.repeat(253),
      kind: 'k'.repeat(63),
      name: 'n'.repeat(253),
      uid: 'u'.repeat(128),
    })),
    saved: { as: 'manifest', manifest: '"'.repeat(MAX_MANIFEST_BYTES / 2 - 1) },
  }),
  clusterResults: clusterObjectResults({
    objects: many(MAX_CLUSTER_COMMAND_ITEMS, () => ({
      object: clusterObject(LONG_NAMES),
      rule: 'D14',
      action: 'delete',
      attempts: 1,
      requests: 1,
      owners: many(MAX_OWNERS_TOLD, () => ({ uid: text(128), found: 'absent' })),
      result: { outcome: 'refused', reason: 'changed', message: text(1_000) },
    })),
  }),
  clusterDecisions: clusterDecision({
    verdicts: many(MAX_CANDIDATES, (position) => ({
      position,
      action: 'delete',
      rule: 'D14',
      facts: Object.fromEntries(many(8, (fact) => [`fact${fact}`, text(128)])),
    })),
  }),
  clusterCensus: fullCensus(LONG_NAMES),
  policies: policyRecord({ selector, keep }),
  policyVersions: set,
  keys: {
    type: 'fleetgc.key-certificate',
    version: 1,
    id: 'key-certificate-1',
    keyId: 'a'.repeat(32),
    publicKey: Buffer.alloc(32).toString('base64'),
    role: 'decider',
    clusters: many(1_000, (index) => `${index}`.padEnd(253, 'c')),
    name: '\u0001'.repeat(200),
    issuedAtMs: 1,
    notAfterMs: 8_640_000_000_000_000,
  },
  heads: {
    type: 'fleetgc.archive-head',
    version: 1,
    id: 'archive-head-1',
    archive: 'a'.repeat(64),
    signedAtMs: 8_640_000_000_000_000,
    lines: Number.MAX_SAFE_INTEGER,
    hash: 'a'.repeat(64),
    fromLine: 0,
    sums: many(MOST_SUMS, () => 'a'.repeat(8)),
  },
  latestFacts: latestNodeFact({
    id: longest(MAX_EVENT_ID_LENGTH),
    cluster: 'c'.repeat(253),
    node: 'n'.repeat(253),
    offset: '9'.repeat(18),
  }),
  deadLetters: letter,
};

const GIVEN = readFileSync(new URL('../../docs/reference/events.md', import.meta.url), 'utf8');
const KIBIBYTE = 1024;
const size = (bytes: number): string =>
  bytes % KIBIBYTE ** 2 === 0 ? `${bytes / KIBIBYTE ** 2} MiB` : `${bytes / KIBIBYTE} KiB`;

test('the bounds are those that docs/reference/events.md gives', () => {
  for (const { name, bounds } of Object.values(TOPICS)) {
    expect(GIVEN).toContain(
      `| \`${name}\` | ${size(bounds.bytes)} | ${bounds.elements.toLocaleString('en-US')} |`,
    );
    expect(GIVEN).toContain(`| lists and objects within each other | ${bounds.depth} |`);
  }
});

describe.each(Object.entries(TOPICS))('on the topic of %s', (id, { name, bounds, schemas }) => {
  const largest = Object.entries(LARGEST).find(([topic]) => topic === id)?.[1];
  const value = Buffer.from(JSON.stringify(largest));

  test('the largest message of ours is read', () => {
    const json = parseJson(name, value);
    expect(json.ok).toBe(true);
  });

  test('its texts are not longer than its schema takes', () => {
    const readable = schemas.some((schema) => schema.safeParse(largest).success);
    expect(readable).toBe(true);
  });

  test.each([
    { what: 'bytes', value: Buffer.alloc(bounds.bytes + 1, ' ') },
    { what: 'levels', value: Buffer.from('['.repeat(bounds.depth + 1)) },
    { what: 'elements', value: Buffer.from(`[0${',0'.repeat(bounds.elements)}]`) },
  ])('one with more $what than its bound is not parsed', ({ value }) => {
    expect(parseJson(name, value)).toMatchObject({ ok: false, rejection: { cause: 'too-large' } });
  });
});

const LONG = 'a'.repeat(1_000);

const cause = (text: keyof ReclaimCause): Partial<Observe> => ({
  reclaim: reclaim({ cause: { ...reclaim().cause, [text]: LONG } }),
});

test.each<{ readonly what: string; readonly over: Partial<Observe> }>([
  { what: 'id', over: { id: LONG } },
  { what: 'boot', over: { takenAt: instant({ bootId: LONG }) } },
  { what: 'reclaim', over: { reclaim: reclaim({ id: LONG }) } },
  { what: 'signal', over: cause('signal') },
  { what: 'threshold', over: cause('threshold') },
  { what: 'reading', over: cause('reading') },
  { what: 'policy', over: cause('policy') },
  { what: 'event', over: cause('eventId') },
])('a text of a fact that orders repeat has a length: $what', ({ over }) => {
  expect(Observe.safeParse(observe(over)).success).toBe(false);
});
