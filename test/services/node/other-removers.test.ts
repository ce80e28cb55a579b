import { expect, test } from 'vitest';
import { otherRemovers } from '../../../services/node/other-removers.ts';

const own = { stateDirectory: '/state', runtimeEndpoint: 'unix:///run/containerd/containerd.sock' };

test('executors of the same runtime are told, however its socket is written, and no others', () => {
  const endpoints = [
    '/run/containerd/containerd.sock',
    'unix:///run/containerd/containerd.sock',
    '/run/k3s/containerd/containerd.sock',
    // From a file of settings, or made up: as the usual one.
    null,
    'nonsense',
  ];
  const executors = endpoints.map((runtimeEndpoint, pid) => ({
    pid,
    command: 'fleetgc run',
    stateDirectory: '/other',
    runtimeEndpoint,
  }));
  expect(otherRemovers(own, executors).map(({ pid }) => pid)).toEqual([0, 1, 3, 4]);
});

test('what another process wrote about itself cannot begin another line', () => {
  const [other] = otherRemovers(own, [
    { pid: 1, command: 'fleetgc run\n\u001b[2J', stateDirectory: '/a\nb', runtimeEndpoint: null },
  ]);
  expect(other).toEqual({ pid: 1, command: 'fleetgc run\\u{a}\\u{1b}[2J', stateDirectory: '/a\\u{a}b' });
});
