import { expect, test } from 'vitest';
import {
  countedKind,
  entriesOf,
  idOf,
  idsIn,
  nameOf,
  namesIn,
  objectsIn,
} from '../../../packages/decision/inventory-entries.ts';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { overtaken } from '../../../services/node/executor/checks.ts';
import {
  container,
  image,
  inventory,
  logSymlink,
  podLogDirectory,
  sandbox,
} from '../../fixtures/inventory.ts';
import { instant } from '../../fixtures/time.ts';

test('kinds of objects are told in words, one and many', () => {
  expect(ObjectKind.options.map((kind) => countedKind(1, kind))).toEqual([
    '1 container',
    '1 sandbox',
    '1 pod log directory',
    '1 log symlink',
    '1 image',
  ]);
  expect(countedKind(2, 'pod-log-directory')).toBe('2 pod log directories');
  expect(countedKind(0, 'sandbox')).toBe('0 sandboxes');
});

test('a command that came too late is told so in these words', () => {
  const nothing = {
    image: null,
    container: null,
    sandbox: null,
    'pod-log-directory': null,
    'log-symlink': null,
  };
  const last = { at: instant(), commandId: 'command-2' };
  const command = { id: 'command-1', takenAt: instant() };
  expect(overtaken(command, 'pod-log-directory', { ...nothing, 'pod-log-directory': last })).toMatchObject({
    message: 'the node acted on pod log directories after the inventory was taken (command-2)',
  });
});

const listed = inventory({
  containers: [container('c-1', { attempt: 2 }), container('c-2', { pod: null })],
  sandboxes: [sandbox('s-1', { attempt: 3 }), sandbox('s-2', { pod: null })],
  podLogDirectories: [podLogDirectory('default_web_pod-1')],
  logSymlinks: [logSymlink('web.log')],
  images: [
    image('i-1', { repoTags: ['app:1', 'app:2'] }),
    image('i-2', { repoTags: [], repoDigests: ['app@sha256:1'] }),
    image('i-3', { repoTags: [], repoDigests: [] }),
  ],
});

test('objects are called for people, and for commands by what nothing else is called', () => {
  expect(objectsIn(listed).map(({ kind, position, id, name }) => [kind, position, id, name])).toEqual([
    ['container', 0, 'c-1', 'default/web/main#2'],
    ['container', 1, 'c-2', 'c-2'],
    ['sandbox', 0, 's-1', 'default/web#3'],
    ['sandbox', 1, 's-2', 'pod-1'],
    ['pod-log-directory', 0, 'default_web_pod-1', 'default_web_pod-1'],
    ['log-symlink', 0, 'web.log', 'web.log'],
    ['image', 0, 'i-1', 'app:1'],
    ['image', 1, 'i-2', 'app@sha256:1'],
    ['image', 2, 'i-3', 'i-3'],
  ]);
});

test.each(ObjectKind.options)('the ids and names of each %s are those of its place', (kind) => {
  const objects = objectsIn(listed).filter((object) => object.kind === kind);
  const entries = entriesOf(listed, kind);
  expect(idsIn(listed, kind)).toEqual(objects.map(({ id }) => id));
  expect(namesIn(listed)[kind]).toEqual(objects.map(({ name }) => name));
  expect(entries.map((entry) => idOf(kind, entry))).toEqual(objects.map(({ id }) => id));
  expect(entries.map((entry) => nameOf(kind, entry))).toEqual(objects.map(({ name }) => name));
});

test('lists that the node could not read hold nothing', () => {
  const unread = inventory({ podLogDirectories: null, logSymlinks: null });
  expect(objectsIn(unread)).toEqual([]);
});
