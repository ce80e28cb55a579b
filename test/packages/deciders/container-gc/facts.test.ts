import { expect, test } from 'vitest';
import type { CompleteInventory, InventoryContainer } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, gonePod, pod, sandbox } from '../../../fixtures/inventory.ts';
import { MINUTE, nsAgo } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';
import { dead, decided, KEEP_NONE } from './decided-containers.ts';

interface Case {
  readonly name: string;
  readonly containers: readonly InventoryContainer[];
  readonly given?: Partial<CompleteInventory>;
  readonly settings?: Partial<Policy>;
  readonly told: string;
}

test.each<Case>([
  {
    name: '[C5] listed twice',
    containers: [dead('a', 'p', 90), dead('a', 'p', 90)],
    told: 'keep C5 {"listedTwice":true}',
  },
  {
    name: '[M41] of no pod',
    containers: [container('a', { pod: null })],
    told: 'keep M41 {"kubeletLabels":false}',
  },
  {
    name: '[G3] that runs',
    containers: [container('a', { state: 'running' })],
    told: 'keep G3 {"state":"running"}',
  },
  {
    name: '[G3] created after the inventory',
    containers: [container('a', { createdAtNs: nsAgo(-MINUTE) })],
    told: 'keep G3 {"state":"exited","ageMs":-60000}',
  },
  {
    name: '[G3] too young',
    containers: [dead('a', 'p', 2, { finishedAtNs: null })],
    settings: { minimumContainerTTLMs: 3 * MINUTE },
    told: 'keep G3 {"state":"exited","ageMs":120000,"minimumAgeMs":180000}',
  },
  {
    name: '[G20] with a log path that climbs',
    containers: [dead('a', 'p', 90, { logPath: '/var/log/pods/../0.log' })],
    settings: KEEP_NONE,
    told: 'keep G20 {"logPath":"/var/log/pods/../0.log","selectedBy":"G7"}',
  },
])('the record says what is known of a container $name', ({ containers, given, settings, told }) => {
  const [verdict] = ofKind(decided(containers, given, settings).verdicts, 'container');
  expect(`${verdict?.action} ${verdict?.rule} ${JSON.stringify(verdict?.facts)}`).toBe(told);
});

test('[G4] a container that was created at the beginning of time, and has not ended, is no error', () => {
  const eternal = dead('a', 'p', 0, { state: 'created', createdAtNs: '0', finishedAtNs: null });
  expect(decided([eternal], {}, KEEP_NONE).items.map(({ id }) => id)).toEqual(['a']);
});

test('[G3] what runs may be of any time: only of what is dead the age matters', () => {
  const createdAtNs = nsAgo(-MINUTE);
  const running = container('a', { state: 'running', createdAtNs });
  const { notBelieved } = decided([running], { sandboxes: [sandbox('s', { state: 'ready', createdAtNs })] });
  expect(notBelieved).toEqual([]);
});

test('[G3] what was created at the very moment of the inventory is no doubt', () => {
  expect(decided([container('a', { createdAtNs: nsAgo(0) })]).notBelieved).toEqual([]);
});

test('[G25] of containers that died, those that are not listed are told', () => {
  const died = (diedContainerIds: string[]) =>
    decided([container('a')], { trigger: 'container-died', diedContainerIds }).notBelieved;
  expect(died(['a'])).toEqual([]);
  expect(died(['a', 'b'])).toMatchObject([{ rule: 'G25', message: expect.stringContaining('b') }]);
});

test('[A8] pods that are listed twice are told', () => {
  const { notBelieved } = decided([], { pods: [pod('p'), pod('q'), pod('p')] });
  expect(notBelieved).toEqual([
    { rule: 'A8', message: '1 pod UID(s) are listed more than once and count as unknown; first by name: p' },
  ]);
});

test('[M30] a unit that runs twice is told; what has no name is of no unit', () => {
  const running = (id: string, name: string) => container(id, { state: 'running', name });
  const notesOf = (name: string) => decided([running('b', name), running('a', name)]).notes;
  expect(notesOf('main')).toMatchObject([{ rule: 'M30', message: expect.stringContaining('a, b') }]);
  expect(notesOf('')).toEqual([]);
});

test('[M30] containers of one name in two pods are two units; what is told goes by name', () => {
  const running = (id: string, uid: string, name: string) => dead(id, uid, 90, { state: 'running', name });
  const { notes } = decided([
    ...['c', 'd'].map((id) => running(id, 'q', 'main')),
    ...['a', 'b'].map((id) => running(id, 'p', 'main')),
  ]);
  expect(notes?.map(({ message }) => message)).toEqual([
    '2 containers of default/p/main run at the same time: a, b',
    '2 containers of default/q/main run at the same time: c, d',
  ]);
  expect(decided([running('a', 'p', 'main'), running('c', 'q', 'main')]).notes).toEqual([]);
});

test('[G20] two dots in a name do not climb', () => {
  const logPath = '/var/log/pods/a..b/0.log';
  expect(decided([dead('a', 'p', 90, { logPath })], {}, KEEP_NONE).items).toHaveLength(1);
});

test('[G6] the record says that the pod of what goes is gone', () => {
  const [verdict] = ofKind(decided([dead('a', 'p', 90)], { pods: [gonePod('p')] }).verdicts, 'container');
  expect(verdict).toMatchObject({ action: 'remove', rule: 'G6', facts: { podIsRemovable: true } });
});
