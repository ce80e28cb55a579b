import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { type Explained, Explanation } from '../../../../schemas/reports/explanation.ts';
import {
  container,
  image,
  incompleteInventory,
  inventory,
  NODE,
  sandbox,
} from '../../../fixtures/inventory.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import {
  answered,
  at,
  explained,
  judged,
  type Logged,
  look,
  ordered,
  removed,
  told,
} from './support/recorded-log.ts';

const ID = `sha256:${'ab'.repeat(32)}`;
const web = image(ID, { repoTags: ['registry.example/shop/web:1'] });
const other = image('sha256:other');
const app = container('c1', { name: 'app', imageId: ID, state: 'running' });
const NAME = 'registry.example/shop/web:1';
const used = { images: [{ ...web, usedBy: [{ kind: 'container' as const, id: 'c1' }] }], containers: [app] };

function isExplained(explanation: Explanation): Explained {
  if (explanation.status === 'explained') return explanation;
  throw new Error(`is ${explanation.status}`);
}

test('the whole life of an image: used, kept, not used any more, chosen, commanded, removed, pulled again', async () => {
  const explanation = await explained(
    [
      look(0, used),
      judged(1, 0, { rule: 'C8', facts: { users: 1, user: 'container c1' } }),
      look(60, used),
      judged(61, 60, { rule: 'C8', facts: { users: 1, user: 'container c1' } }),
      look(120, { images: [web] }),
      judged(121, 120, { rule: 'D10' }),
      look(180, { images: [web] }),
      judged(181, 180, { rule: 'D11', action: 'remove' }, { outcome: 'commanded' }),
      ordered(182, ID),
      answered(183, ID, removed(8)),
      look(240, { images: [other] }),
      look(300, { images: [web] }),
    ],
    NAME,
  );

  expect(told(explanation)).toEqual([
    '0 seen first-look',
    '0 used container:default/web/app#0',
    '1 verdict keep C8 x2',
    '120 used',
    '121 verdict keep D10 x1',
    '181 verdict remove D11 x1',
    '182 command',
    '183 result removed',
    '300 seen again',
  ]);
  expect(isExplained(explanation)).toMatchObject({
    subject: {
      kind: 'image',
      id: ID,
      name: NAME,
      state: 'there',
      firstSeenMs: NOW,
      lastSeenMs: NOW + 5 * MINUTE,
    },
    timeline: expect.arrayContaining([
      expect.objectContaining({ rule: 'C8', because: 'used by container default/web/app#0' }),
      expect.objectContaining({ what: 'command', expectedBytes: 10, answered: true }),
      expect.objectContaining({
        what: 'result',
        expectedBytes: 10,
        measured: expect.objectContaining({ afterBytes: '1008' }),
      }),
    ]),
  });
  expect(Explanation.parse(explanation)).toEqual(explanation);
});

test.each<{ name: string; events: readonly Logged[]; state: string; story: readonly string[] }>([
  {
    name: 'what vanishes without a result is gone, and not by us',
    events: [look(0, { images: [web] }), look(60)],
    state: 'gone',
    story: ['0 seen first-look', '60 gone'],
  },
  {
    name: 'a result that comes after the look takes the doubt back',
    events: [
      look(0, { images: [web] }),
      ordered(1, ID),
      look(60),
      answered(61, ID, removed(1), { at: at(2) }),
    ],
    state: 'removed',
    story: ['0 seen first-look', '1 command', '61 result removed'],
  },
  {
    name: 'a look of before the removal that comes late shows nothing new',
    events: [
      look(0, { images: [web] }),
      answered(30, ID, removed(1)),
      look(31, { images: [web], takenAt: at(29) }),
    ],
    state: 'removed',
    story: ['0 seen first-look', '30 result removed'],
  },
  {
    name: 'what was gone when the node came to it is not ours either',
    events: [look(0, { images: [web] }), ordered(1, ID), answered(2, ID, { outcome: 'not-found' }), look(60)],
    state: 'gone',
    story: ['0 seen first-look', '1 command', '2 result not-found'],
  },
  {
    name: 'an incomplete look says nothing of it',
    events: [
      look(0, { images: [web] }),
      [60, nodeOutput('inventory', { ...incompleteInventory, takenAt: at(60) })],
    ],
    state: 'there',
    story: ['0 seen first-look'],
  },
  {
    name: 'what was not in an earlier look is new',
    events: [look(0, { images: [other] }), look(60, { images: [web] })],
    state: 'there',
    story: ['60 seen new'],
  },
  {
    name: 'a refusal keeps it there',
    events: [
      look(0, { images: [web] }),
      ordered(1, ID),
      answered(2, ID, { outcome: 'refused', reason: 'in-use', message: 'in use by a container' }),
    ],
    state: 'there',
    story: ['0 seen first-look', '1 command', '2 result refused'],
  },
  {
    name: 'a decision that lies on the log twice is one',
    events: [look(0, { images: [web] }), judged(1, 0, { rule: 'D10' }), judged(2, 0, { rule: 'D10' })],
    state: 'there',
    story: ['0 seen first-look', '1 verdict keep D10 x1'],
  },
  {
    name: 'the same rule with another reason is told anew',
    events: [
      look(0, { images: [web] }),
      judged(1, 0, { rule: 'M11', facts: { keptBy: 'a/*' } }),
      look(2, { images: [web] }),
      judged(3, 2, { rule: 'M11', facts: { keptBy: 'b/*' } }),
    ],
    state: 'there',
    story: ['0 seen first-look', '1 verdict keep M11 x1', '3 verdict keep M11 x1'],
  },
  {
    name: 'other ages are no other reason',
    events: [
      look(0, { images: [web] }),
      judged(1, 0, { rule: 'D10', facts: { ageMs: 1 } }),
      look(2, { images: [web] }),
      judged(3, 2, { rule: 'D10', facts: { ageMs: 2 } }),
    ],
    state: 'there',
    story: ['0 seen first-look', '1 verdict keep D10 x2'],
  },
  {
    name: 'a decision on a look without it says nothing of it',
    events: [look(0, { images: [web] }), look(60, { images: [other] }), judged(61, 60, { rule: 'P6' })],
    state: 'gone',
    story: ['0 seen first-look', '60 gone'],
  },
])('$name', async ({ events, state, story }) => {
  const explanation = await explained(events, NAME);

  expect(told(explanation)).toEqual(story);
  expect(isExplained(explanation).subject.state).toBe(state);
});

test('a command that was refused as a whole is told to each of its objects', async () => {
  const refusal: Logged = [
    2,
    nodeOutput('results', {
      type: 'fleetgc.node.command-result',
      version: 1,
      id: 'command-result-1',
      ...NODE,
      at: at(2),
      commandId: 'command-1',
      decisionId: 'decision-1',
      inventoryId: 'inventory-1',
      journal: 'disk',
      kind: 'image-removal',
      result: { outcome: 'refused', reason: 'expired', message: 'it came too late' },
    }),
  ];
  const explanation = await explained([look(0, { images: [web] }), ordered(1, ID), refusal], NAME);

  expect(isExplained(explanation).timeline).toMatchObject([
    { what: 'seen' },
    { what: 'command', answered: true },
    {
      what: 'result',
      wholeCommand: true,
      outcome: 'refused',
      reason: 'expired',
      message: 'it came too late',
    },
  ]);
});

test('a command without an answer says so, and so does what vanished meanwhile', async () => {
  const explanation = await explained([look(0, { images: [web] }), ordered(1, ID), look(60)], NAME);

  expect(isExplained(explanation).timeline).toMatchObject([
    { what: 'seen' },
    { what: 'command', answered: false },
    { what: 'gone', commandOpen: true },
  ]);
});

test('what vanishes with another installation of the node is told apart', async () => {
  const nodeInstance = '00000000-0000-4000-8000-000000000001';
  const explanation = await explained([look(0, { images: [web] }), look(60, { nodeInstance })], NAME);

  expect(isExplained(explanation).timeline.at(-1)).toMatchObject({ what: 'gone', otherInstance: true });
});

test("the node's clock and that of the log are told apart", async () => {
  const events = [look(0, { images: [web], takenAt: at(-7_200) })];

  expect(isExplained(await explained(events, NAME)).timeline[0]).toMatchObject({
    loggedAtMs: NOW,
    nodeTimeMs: NOW - 7_200 * SECOND,
  });
});

test('a decision that is read a little before its inventory waits for it, and what follows with it', async () => {
  const early: Logged[] = [
    look(0, { images: [web] }),
    judged(
      1,
      2,
      { rule: 'D11', action: 'remove' },
      { input: { ...decision().input, id: 'look-2', offset: '1' } },
    ),
    ordered(1, ID),
    look(2, { images: [web] }),
  ];

  expect(told(await explained(early, NAME))).toEqual([
    '0 seen first-look',
    '1 verdict remove D11 x1',
    '1 command',
  ]);
});

test('an event that nobody can read is counted, and the rest is told', async () => {
  const newer = Buffer.from(JSON.stringify({ ...inventory({ images: [web] }), version: 2 }));
  const [, output] = look(60);
  const explanation = await explained([look(0, { images: [web] }), [60, output, newer]], NAME);

  expect(told(explanation)).toEqual(['0 seen first-look']);
  expect(explanation.reading).toMatchObject({ records: 2, unreadable: 1 });
});

test('a pod is told with all that belongs to it, each part by itself', async () => {
  const pod = { uid: 'pod-1', name: 'web', namespace: 'default' };
  const dead = container('c2', { name: 'app', pod, attempt: 1 });
  const explanation = await explained(
    [
      look(0, { containers: [app], sandboxes: [sandbox('s1', { state: 'ready' })] }),
      look(60, { containers: [{ ...app, state: 'exited' }, dead], sandboxes: [sandbox('s1')] }),
      look(120, { containers: [dead], sandboxes: [sandbox('s1')] }),
    ],
    'pod/web',
  );

  expect(isExplained(explanation).subject).toMatchObject({
    kind: 'pod',
    id: 'pod-1',
    name: 'default/web',
    state: 'there',
  });
  expect(told(explanation)).toEqual([
    '0 seen first-look',
    '0 seen first-look',
    '0 seen first-look',
    '60 changed state=exited',
    '60 seen new',
    '60 changed state=notReady',
    '120 gone',
  ]);
});

test('a decision whose inventory is not on the log keeps nothing waiting for ever', async () => {
  const input = { ...decision().input, id: 'look-lost', offset: '99' };
  const events: Logged[] = [
    look(0, { images: [web] }),
    judged(1, 0, { rule: 'D10' }, { id: 'lost', input }),
    answered(2, ID, removed(1)),
    look(60, { images: [web] }),
  ];

  expect(told(await explained(events, NAME))).toEqual([
    '0 seen first-look',
    '2 result removed',
    '60 seen again',
  ]);
});

test('looks that were passed over are one entry, between the decisions on others', async () => {
  const passedOver = (seconds: number): Logged =>
    judged(
      300,
      seconds,
      { rule: '' },
      {
        outcome: 'overtaken',
        reason: 'a newer look was already there',
        verdicts: [],
        overtakenBy: { ...decision().input, offset: '3', id: 'look-240' },
      },
    );
  const explanation = await explained(
    [
      look(0, { images: [web] }),
      judged(1, 0, { rule: 'D10' }),
      ...[60, 120, 180, 240].map((seconds) => look(seconds, { images: [web] })),
      ...[60, 120, 180].map(passedOver),
      judged(301, 240, { rule: 'D10' }),
    ],
    NAME,
  );

  expect(told(explanation)).toEqual([
    '0 seen first-look',
    '1 verdict keep D10 x1',
    '300 undecided overtaken x3',
    '301 verdict keep D10 x1',
  ]);
});
