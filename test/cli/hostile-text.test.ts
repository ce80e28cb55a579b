import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { operatorPublication } from '../../cli/framework/task-event-log.ts';
import { ALL_VERBS } from '../../cli/verbs.ts';
import { toJson } from '../../lab/fuzz/mutate/json.ts';
import { contentHash } from '../../packages/canonical/ids.ts';
import { parseJson, parseValue } from '../../packages/records/parse/parse-record.ts';
import { keyOf } from '../../packages/records/parse/record-key.ts';
import { toRecord } from '../../packages/records/publisher.ts';
import { trustRootsText } from '../../packages/records/trust/roots-file.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { TOPIC_IDS } from '../../schemas/exchange/topics.ts';
import { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { census } from '../fixtures/census.ts';
import { clusterObject, clusterPolicyRecord, clusterRemoved } from '../fixtures/cluster.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { candidate, owner, ownership } from '../fixtures/ownership.ts';
import { recordedMessages } from '../schemas/compatibility/messages.ts';
import { inProcess, type OwnLog } from './fleetgc.ts';
import { deadLetter } from './verbs/dead-letters/letters.ts';
import { rootedLog } from './verbs/rooted-log.ts';

/** Each of what ends a line somewhere, and a line of whoever wrote it behind it. */
const FORGING = ['\n', '\r\n', '\r', '\t', '\u000b', '\u000c', '\u0085', '\u2028', '\u2029']
  .map((end) => `${end}FORGED`)
  .join('');
/** Clears a screen, sets its title, ends in C1, turns text round, hides, forges lines, and is half a character. */
const HOSTILE = `\u001b[2J\u001b]0;owned\u0007\u009b31m\u007f\u202e\u2066\u200b\ufeff\u00ad\u115f\u{e0041}x${FORGING}`;
const HALF = '\ud800';

/** Of what is shown to people nothing is drawn as anything but itself, and no line is of somebody else. */
const RAW = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|^\s*FORGED/u;

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Path = readonly (string | number)[];

/** Where texts and names of members stand. */
function* textsOf(value: Json, path: Path = []): Iterable<{ readonly path: Path; readonly isName: boolean }> {
  if (typeof value === 'string') yield { path, isName: false };
  else if (Array.isArray(value))
    for (const [index, each] of value.entries()) yield* textsOf(each, [...path, index]);
  else if (value !== null && typeof value === 'object')
    for (const [name, each] of Object.entries(value)) {
      yield { path: [...path, name], isName: true };
      yield* textsOf(each, [...path, name]);
    }
}

function changed(value: Json, path: Path, change: (text: string) => string, isName: boolean): Json {
  const [first, ...rest] = path;
  if (first === undefined) return typeof value === 'string' ? change(value) : value;
  if (Array.isArray(value))
    return value.map((each, index) => (index === first ? changed(each, rest, change, isName) : each));
  if (value === null || typeof value !== 'object') return value;
  const isLast = isName && rest.length === 0;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]): [string, Json] => {
      if (name !== first) return [name, each];
      return isLast ? [change(name), each] : [name, changed(each, rest, change, isName)];
    }),
  );
}

/** As it lies on the log. */
function isTaken(topic: TopicId, event: Json): boolean {
  const json = parseJson(TOPICS[topic].name, Buffer.from(JSON.stringify(event)));
  return json.ok && parseValue(topic, json.event).ok;
}

/** The same event with hostile text in every text and name in which its schema takes any. */
function hostile(topic: TopicId, event: Json): Json {
  let made = event;
  // What is hashed takes no half of a character.
  const isHashed = topic === 'policies' || topic === 'policyVersions';
  for (const text of isHashed ? [HOSTILE] : [HOSTILE, HALF])
    for (const { path, isName } of [...textsOf(made)].toReversed()) {
      const tried = changed(made, path, (own) => `${own}${text}`, isName);
      if (isTaken(topic, tried)) made = tried;
    }
  return withHash(made);
}

/** A policy whose hash is not that of its content is shown by no verb. */
function withHash(event: Json): Json {
  if (event === null || typeof event !== 'object' || Array.isArray(event) || !('policy' in event))
    return event;
  return 'hash' in event ? { ...event, hash: contentHash(event.policy) } : event;
}

/** Its labels and its release are what a node says of itself. */
const READ_NOW = { nodeLabels: { role: 'web' }, fleetgcVersion: '1.0.0' };

/** So many objects go with one owner that somebody has to approve it. */
const GOES_WIDE = ownership({
  takenAt: { serverMs: Date.now() - 60_000, spreadMs: 0 },
  candidates: [
    candidate({
      references: [owner('o', { state: 'gone', gone: { how: 'watched', orphaned: false } })],
      cascades: [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 1_200, ofKind: 1_200, within: null }],
    }),
  ],
});

const DANGLING = census({
  badReferences: {
    count: 1,
    first: [
      {
        object: { group: '', kind: 'ConfigMap', namespace: 'ns', name: 'd', uid: 'd' },
        owner: { apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: 'n' },
        state: 'unseen',
      },
    ],
  },
});

const NEWEST: readonly (readonly [TopicId, unknown])[] = [
  ['diskStats', diskStats({}, READ_NOW)],
  ['policies', clusterPolicyRecord()],
  ['clusterOwnership', GOES_WIDE],
  ['clusterCensus', DANGLING],
  ['deadLetters', deadLetter({ id: 'dead-letter-1' })],
  ['deadLetters', deadLetter({ id: 'dead-letter-2' })],
];

/** What can be created again: a manifest in which hostile text stands where Kubernetes takes any. */
const PRINTABLE = [
  clusterRemoved({
    id: 'printable',
    commandId: 'printable',
    object: clusterObject({ uid: 'printable', name: 'printable' }),
    saved: {
      as: 'manifest',
      manifest: JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'printable', namespace: 'ns' },
        data: { a: HOSTILE },
      }),
    },
  }),
];

const isJson = (value: unknown): value is Json => value !== undefined;

/** Two events of each type that this release reads, and what verbs want that look at what is new. */
function* recordedEvents(): Iterable<readonly [TopicId, Json]> {
  const messages = Map.groupBy(recordedMessages(), ({ topic, type }) => `${topic} ${type}`);
  const taken = [...messages.values()].flatMap((each) => each.slice(0, 2));
  for (const { topic, event } of taken.toSorted((one, other) => indexOf(one) - indexOf(other)))
    if (isJson(event)) yield [topic, event];
  for (const [topic, event] of NEWEST) yield [topic, toJson(event)];
}
const indexOf = ({ topic }: { readonly topic: TopicId }): number => TOPIC_IDS.indexOf(topic);

interface HostileLog extends OwnLog {
  /** Texts that were taken. */
  readonly taken: number;
  /** The path of a file beside it. */
  readonly file: (name: string) => string;
}

/** A log of events with hostile text wherever that can be, and files with such text beside it. */
async function hostileLog(): Promise<HostileLog> {
  const { own, file, certify, create } = await rootedLog();
  let taken = 0;
  for (const [topic, event] of recordedEvents()) {
    const parsed = parseValue(topic, hostile(topic, event));
    if (!parsed.ok) continue;
    taken += JSON.stringify(parsed.event).split('\\u001b[2J').length - 1;
    const key = keyOf(topic, parsed.event);
    await own.log.publish([toRecord({ topic, key, event: parsed.event }, operatorPublication())]);
  }
  for (const removed of PRINTABLE)
    await own.log.publish([
      toRecord(
        { topic: 'clusterRemoved', key: keyOf('clusterRemoved', removed), event: removed },
        operatorPublication(),
      ),
    ]);
  await certify('operator', '--role', 'operator');
  await certify('other', '--role', 'operator');
  writeFileSync(file('public'), await create('new.pem'));
  const root = ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')];
  const roots = TrustRoots.parse(parse(readFileSync(file('roots.yaml'), 'utf8')));
  const named = { ...roots, roots: roots.roots.map((each) => ({ ...each, name: HOSTILE })) };
  const { stdout } = await inProcess([
    ...['keys', 'certify', file('public'), '--role', 'operator', '--name', 'x', '--valid-for', '1d'],
    ...['--offline', ...root],
  ]);
  const found = recordedMessages().find(({ topic }) => topic === 'inventory');
  if (found === undefined || !isJson(found.event)) throw new Error('no inventory is recorded');
  const texts: Readonly<Record<string, string>> = {
    'odd-roots': trustRootsText(named),
    statements: stdout,
    'odd-statements': JSON.stringify({ [HOSTILE]: HOSTILE }),
    inventory: JSON.stringify(hostile('inventory', found.event)),
    policy: JSON.stringify({ name: 'web', mode: 'dry-run' }),
    'odd-policy': JSON.stringify({ name: HOSTILE, mode: HOSTILE, [HOSTILE]: 1 }),
    'odd-cluster-policy': JSON.stringify({ kind: 'ClusterPolicy', name: HOSTILE, [HOSTILE]: 1 }),
    kubelet: JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      imageGCHighThresholdPercent: 90,
      [HOSTILE]: HOSTILE,
    }),
    rules: JSON.stringify({
      receivers: [{ name: 'r', type: 'webhook', url: 'http://127.0.0.1:1/' }],
      rules: [{ name: 'all', to: ['r'] }],
    }),
    'odd-rules': JSON.stringify({ receivers: [], rules: [{ name: HOSTILE, to: [HOSTILE], [HOSTILE]: 1 }] }),
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(file(name), text);
  return { ...own, taken, file };
}

interface Asking {
  /** `@name` stands for the path of a file of this name. */
  readonly args: readonly string[];
  /** 0 where it is not given. */
  readonly exitCode?: number;
  /** It has no event log. */
  readonly isAlone?: true;
  /** Nothing that others wrote is in this answer. */
  readonly isOwn?: true;
}

const KUBERNETES = 'asks an API server; its answer leaves by printResult, as that of cluster report';
const NOTHING_FOREIGN = 'prints what this release is made of, and nothing that others wrote';
const LONG =
  'runs until it is told to stop; its lines are those of event-lines.test.ts and cluster-lines.test.ts';
const TRUSTING = ['--trust-roots', '@roots.yaml'];
const ODDLY = ['--trust-roots', '@odd-roots'];
const AS_ROOT = [...TRUSTING, '--root-key-file', '@root.pem'];
const SIGNING = ['--trust', 'warn', ...TRUSTING, '--signing-key-file', '@operator.pem'];

/** An escape of a hostile text, in lines and in documents. */
const SHOWN = /\\u(\{1b\}|001b|\{9b\})/;

/** By verb what it is asked, in this order, or why it is not asked here. What changes the log stands last. */
const ASKED: Readonly<Record<string, string | readonly Asking[]>> = {
  nodes: [{ args: [] }, { args: ['-o', 'wide'] }, { args: ['-o', 'name'] }, { args: ['-o', 'json'] }],
  status: [{ args: [] }],
  'policy list': [{ args: [] }, { args: ['-o', 'wide'] }, { args: ['-o', 'name'] }],
  'policy show': [{ args: ['default'] }, { args: ['cluster/default'] }, { args: [HOSTILE], exitCode: 1 }],
  'policy effective': [
    { args: ['--cluster', 'prod', '--node', 'web-1'] },
    { args: ['--node', 'web-1', '--policy', '@odd-policy'], exitCode: 2 },
  ],
  'policy export': [{ args: ['--file', '-'] }],
  'cluster report': [{ args: [] }],
  'dead-letters list': [{ args: [] }, { args: ['-o', 'wide'] }, { args: ['-o', 'name'] }],
  'dead-letters show': [{ args: ['dead-letter-1'] }],
  'audit report': [
    { args: ['--from', '1d'] },
    { args: ['--from', '1d', '-o', 'markdown'] },
    { args: ['--from', '1d', '-o', 'html'] },
  ],
  'audit explain': [
    { args: ['node/prod/web-1'] },
    { args: ['image-1'] },
    { args: ['ConfigMap/ns/x'], exitCode: 1 },
  ],
  'audit verify': [{ args: ['--from', '1d'], exitCode: 1 }],
  'audit events': [{ args: [], isOwn: true }],
  'audit simulate': [
    { args: ['--policy', '@policy', '--from', '1d'], isOwn: true },
    { args: ['--policy', '@odd-policy', '--from', '1d'], exitCode: 2 },
  ],
  'audit archive': [{ args: ['--to', '@archive'], isOwn: true }],
  'audit archive check': [{ args: ['--archive', '@archive'], isAlone: true, isOwn: true }],
  'audit query': [
    { args: ['SELECT * FROM dead_letters', '--archive', '@archive'], isAlone: true },
    { args: [`SELECT ${HOSTILE}`, '--archive', '@archive'], isAlone: true, exitCode: 2 },
  ],
  undo: [{ args: ['c1'] }, { args: ['c1', '-o', 'name'] }, { args: [`c1${HOSTILE}`], exitCode: 2 }],
  'topics check': [{ args: [], isOwn: true }],
  'topics acls': [{ args: ['--node-principal', `User:${HOSTILE}`], isAlone: true }],
  'topics create': [{ args: [], isOwn: true }],
  plan: [
    { args: ['--inventory', '@inventory'], isAlone: true },
    { args: ['--inventory', '@inventory', '-o', 'ndjson'], isAlone: true },
    { args: ['--inventory', '@inventory', '--policy', '@odd-policy'], isAlone: true, exitCode: 2 },
  ],
  'policy validate': [
    { args: ['@policy'], isAlone: true, isOwn: true },
    { args: ['@odd-policy'], isAlone: true, exitCode: 2 },
    { args: ['@odd-cluster-policy'], isAlone: true, exitCode: 2 },
    { args: ['@kubelet'], isAlone: true, exitCode: 2, isOwn: true },
  ],
  'policy from-kubelet': [{ args: ['@kubelet'], isAlone: true }],
  'notify check': [
    { args: ['@rules'], isAlone: true, isOwn: true },
    { args: ['@odd-rules'], isAlone: true, exitCode: 2 },
  ],
  'keys list': [{ args: ODDLY }, { args: [...ODDLY, '-o', 'wide'] }, { args: [...ODDLY, '-o', 'json'] }],
  'keys check': [{ args: ODDLY, exitCode: 1, isOwn: true }],
  'keys verify': [{ args: ['@events', ...TRUSTING], exitCode: 1 }],
  'keys create': [{ args: [`@${HOSTILE}`], isAlone: true }],
  'keys roots': [{ args: ['--fleet', 'prod', '--root', `${HOSTILE}=@public`], isAlone: true }],
  'keys publish': [
    { args: ['@statements', ...TRUSTING], isOwn: true },
    { args: ['@odd-statements', ...TRUSTING], exitCode: 2, isOwn: true },
  ],
  'keys certify': [
    {
      args: ['@public', '--role', 'operator', '--name', HOSTILE, '--valid-for', '1d', ...AS_ROOT],
    },
  ],
  'keys revoke': [{ args: [HOSTILE, '--reason', 'lost', ...AS_ROOT], exitCode: 2 }],
  'policy sign': [{ args: ['--dry-run', ...SIGNING] }],
  resume: [{ args: ['--all', '--trust', 'off'] }],
  held: [{ args: [] }],
  approve: [
    { args: ['c1', 'o', '--objects', '1200', '--dry-run'], exitCode: 1 },
    { args: ['c1', `o${HOSTILE}`, '--objects', '1200', '--dry-run'] },
  ],
  'policy apply': [
    { args: ['@policy', '--trust', 'off'], isOwn: true },
    { args: ['@odd-policy', '--trust', 'off'], exitCode: 2 },
  ],
  'policy delete': [{ args: [HOSTILE, '--trust', 'off'], exitCode: 1 }],
  pause: [
    { args: ['--reason', HOSTILE, '--node-name', 'web-1', '--trust', 'off'], isOwn: true },
    { args: ['--cluster', HOSTILE, '--trust', 'off'], exitCode: 2 },
  ],
  'dead-letters redrive': [
    { args: ['--all', '--dry-run'], exitCode: 1 },
    { args: ['--all'], exitCode: 1 },
  ],
  run: LONG,
  'cluster run': LONG,
  'cluster plan': KUBERNETES,
  cascade: KUBERNETES,
  'cluster leftovers': KUBERNETES,
  'cluster rbac': KUBERNETES,
  'cluster guard': [{ args: ['--policy', '@odd-cluster-policy'], isAlone: true, exitCode: 2 }],
  'doctor node': [{ args: ['--cluster', HOSTILE], exitCode: 2 }],
  'doctor decide': [{ args: [], isOwn: true }],
  'doctor cluster': KUBERNETES,
  demo: NOTHING_FOREIGN,
  'simulate-fleet': NOTHING_FOREIGN,
  'notify rbac': NOTHING_FOREIGN,
  version: NOTHING_FOREIGN,
  completion: NOTHING_FOREIGN,
};

test('every verb is asked here that does not run as a service', () => {
  const tasks = ALL_VERBS.filter(({ kind }) => kind === 'task').map(({ name }) => name);
  expect(Object.keys(ASKED).toSorted()).toEqual(tasks.toSorted());
});

test('no text that anybody wrote reaches a terminal raw or begins a line, by any verb and in any field', async () => {
  const own = await hostileLog();
  expect(own.taken).toBeGreaterThan(100);
  writeFileSync(own.file('events'), (await own.run('audit', 'events')).stdout);
  for (const [verb, asked] of Object.entries(ASKED)) {
    if (typeof asked === 'string') continue;
    for (const { args: given, exitCode = 0, isAlone, isOwn = false } of asked) {
      const args = [
        ...verb.split(' '),
        ...given.map((arg) => arg.replace(/(?<=^|=)@(.+)$/su, (_, name) => own.file(name))),
      ];
      const ended = await (isAlone ? inProcess(args) : own.run(...args));
      const output = `${ended.stdout}\n${ended.stderr}`;
      const raw = output.split('\n').filter((line) => RAW.test(line));
      expect
        .soft({ args, exitCode: ended.exitCode, raw, isOwn: !SHOWN.test(output) })
        .toEqual({ args, exitCode, raw: [], isOwn });
    }
  }
});

test('a policy as it was written keeps its lines and tabs, and nothing that rewrites a terminal', async () => {
  const { run } = await hostileLog();
  const { stdout } = await run('policy', 'show', 'default', '--as-written');
  expect(stdout).toContain('\nFORGED\\u{d}\nFORGED\\u{d}FORGED\tFORGED\\u{b}');
  expect(stdout).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
});

test.each(['json', 'yaml'])(
  'what programs read is whole in %s, and holds the texts as they are',
  async (format) => {
    const own = await hostileLog();
    for (const args of [['nodes'], ['status'], ['policy', 'list'], ['dead-letters', 'list'], ['held']]) {
      const { stdout } = await own.run(...args, '-o', format);
      expect(stdout).not.toMatch(RAW);
      if (format === 'json') expect(() => JSON.parse(stdout)).not.toThrow();
    }
    const { nodes } = JSON.parse((await own.run('nodes', '-o', 'json')).stdout);
    expect(JSON.stringify(nodes)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
  },
);
