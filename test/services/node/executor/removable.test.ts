import { expect, test } from 'vitest';
import { isPodLogEntry, nameOf, type Removable } from '../../../../services/node/executor/checks.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { listedContainer, listedSandbox, runtimeImage } from '../../../fixtures/listing.ts';
import { POD_LABELS } from './support/executor-node.ts';

test('entries of log directories are told from what the runtime knows', () => {
  const items = [
    ...logRemoval(['default_web_pod-1', 'web.log']).items,
    ...containerRemoval(['dead', 'sandbox-1']).items,
    ...imageRemoval(['a']).items,
  ];
  expect(items.map((item) => [item.kind, isPodLogEntry(item)])).toEqual([
    ['pod-log-directory', true],
    ['log-symlink', true],
    ['container', false],
    ['sandbox', false],
    ['image', false],
  ]);
});

test('objects are called as people search for them in a log', () => {
  const image = runtimeImage('app', { repoTags: ['app:1', 'app:2'], repoDigests: ['app@sha256:1'] });
  const container = listedContainer('c', { name: 'main', attempt: 2, labels: POD_LABELS });
  const objects: readonly Removable[] = [
    { kind: 'image', image },
    { kind: 'image', image: { ...image, repoTags: [] } },
    { kind: 'image', image: { ...image, id: 'i', repoTags: [], repoDigests: [] } },
    { kind: 'container', container },
    { kind: 'container', container: { ...container, labels: {} } },
    { kind: 'sandbox', sandbox: listedSandbox('s', { podName: 'web', attempt: 3 }) },
    { kind: 'pod-log-directory', name: 'default_web_pod-1', podUid: 'pod-1' },
    { kind: 'log-symlink', name: 'web.log' },
  ];
  expect(objects.map(nameOf)).toEqual([
    'app:1',
    'app@sha256:1',
    'i',
    'default/web/main#2',
    '//main#2',
    'default/web#3',
    'default_web_pod-1',
    'web.log',
  ]);
});
